import { extname } from "node:path"

import { quoteForShell } from "../../../../base/quote-for-shell.ts"
import type { SyntaxCheck } from "./syntax-check.ts"
import { problems } from "./syntax-check.ts"

const CHECK_TIMEOUT_MS = 10_000
const MAX_OUTPUT_CHARS = 8000

/** Languages that are checked by their own program in the workspace, which reads the text from stdin, so that no file is written. */
export const checkWithCommand: SyntaxCheck = async (text, { path, context }) => {
  const checker = CHECKERS[extname(path).toLowerCase()]
  if (checker === undefined) return { kind: "skipped", why: "there is no check for this language" }
  const exit = await context.workspace.run(checker.command, {
    stdin: text,
    timeoutMs: CHECK_TIMEOUT_MS,
    signal: context.signal,
    keepChars: MAX_OUTPUT_CHARS,
  }).exit
  if (exit.how !== "exited") return { kind: "skipped", why: "the syntax check did not finish" }
  if (exit.code === 0) return { kind: "ok" }
  const found = Array.from(
    exit.output.matchAll(checker.finding),
    ({ groups }) => `line ${groups?.["line"] ?? "?"}: ${groups?.["message"]?.trim() ?? ""}`,
  )
  // Whatever else the program prints, such as the complaint of a version manager, is not about the file.
  return found.length === 0 ? { kind: "skipped", why: `${checker.name} is not usable here` } : problems(found)
}

interface Checker {
  readonly name: string
  readonly command: string
  /** Matches a syntax error with its position in the text from stdin. */
  readonly finding: RegExp
}

const PYTHON = `
import sys
try:
    compile(sys.stdin.buffer.read(), "file", "exec", dont_inherit=True)
except (SyntaxError, ValueError) as error:
    print(f"<stdin>:{getattr(error, 'lineno', None) or '?'}: {type(error).__name__}: {getattr(error, 'msg', None) or error}")
    sys.exit(1)
`

const CHECKERS: Readonly<Record<string, Checker>> = {
  // Isolated (-I), so that no file of the working directory is imported; warnings (-W) are ignored.
  ".py": {
    name: "python3",
    command: `python3 -I -W ignore -c ${quoteForShell(PYTHON)}`,
    finding: /^<stdin>:(?<line>\d+|\?): (?<message>\w+: .*)$/gm,
  },
  ".go": {
    name: "gofmt",
    command: "gofmt -e 2>&1 >/dev/null",
    finding: /^<standard input>:(?<line>\d+)(?::\d+)?: (?<message>.+)$/gm,
  },
  // `error[internal]` is about formatting.
  ".rs": {
    name: "rustfmt",
    command: "rustfmt --edition 2021 --color never --emit stdout 2>&1 >/dev/null",
    finding: /^error(?!\[internal\])(?:\[\w+\])?: (?<message>.+)\n\s*--> <stdin>:(?<line>\d+)/gm,
  },
}
