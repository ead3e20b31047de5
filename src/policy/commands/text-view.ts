import { stripAnsi } from "../../base/strip-ansi.ts"
import type { CommandFacts } from "./command-verdict.ts"

/**
 * The text of a line as patterns see it. Nothing that a shell could run is left out: where removing escapes, empty quotes or terminal
 * sequences changes the line, the line as it was written is looked at too.
 */
export function textViews(line: string, facts: CommandFacts): readonly string[] {
  const written = fold(PLAIN.test(line) ? line : line.replaceAll("\0", "").normalize("NFKC"), facts)
  if (!HIDING.test(line)) return [written]
  const plain = fold(
    stripAnsi(line)
      .replaceAll("\0", "")
      .normalize("NFKC")
      .replaceAll("\\\n", "")
      .replaceAll(/\\(.)/gsu, "$1")
      .replaceAll(/''|""/gu, ""),
    facts,
  )
  return plain === written ? [written] : [plain, written]
}

/** Text that normalization does not change. */
const PLAIN = /^[\n\t -~]*$/u

/** Quotes, escapes and the characters that start terminal sequences. */
const HIDING = new RegExp(String.raw`["'\\\u{1B}\u{80}-\u{9F}]`, "u")

/** Replaces the homes of Hermes and of the user, so that one pattern matches every spelling. */
function fold(text: string, { userHome, hermesHome, hermesRoot }: CommandFacts): string {
  // Most lines name neither home.
  if (![userHome, hermesHome, hermesRoot].some((home) => text.includes(home))) return text
  const homes = [...new Set([hermesHome, hermesRoot])].toSorted((one, other) => other.length - one.length)
  const withHermes = homes.reduce((folded, home) => replacePath(folded, home, "~/.hermes"), text)
  return replacePath(withHermes, userHome, "~")
}

function replacePath(text: string, path: string, short: string): string {
  if (path.length < 2 || !text.includes(path)) return text
  return text
    .split(path)
    .reduce((before, after) => `${before}${/^(?:[\s/"';&|)`*:]|$)/u.test(after) ? short : path}${after}`)
}
