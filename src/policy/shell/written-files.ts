import type { Call, Field } from "./interpreter.ts"
import { filePath, rememberFile } from "./redirections.ts"
import { knownWord } from "./scope.ts"
import { optionValue } from "./nested/unwrap.ts"

export const COPYING = new Set(["cp", "ln", "mv", "install", "link"])
/** After `ln -s / x` a path below x leads elsewhere. */
export function rememberLinks(name: string, { argv, frame }: Call): void {
  if (!COPYING.has(name) || name === "mv" || frame.scope.links.size >= MOST_LINKS) return
  if (!argv.some(({ text }) => /^-[a-zA-Z]*s|^--symbolic/u.test(text))) return
  const [source, target, ...others] = argv.slice(1).filter(({ text }) => !text.startsWith("-"))
  if (source === undefined || others.length > 0) return
  const from = filePath(source, frame.scope)
  const base = source.text.replace(/\/+$/u, "").split("/").at(-1) ?? ""
  const link = target ?? (base === "" ? undefined : knownWord(base))
  const path = link === undefined ? undefined : filePath(link, frame.scope)
  if (from === undefined || path === undefined) return
  // Without -f an existing link stays, and one to a directory gets the new link inside.
  const replaces = argv.some(({ text }) =>
    /^-[a-zA-Z]*[fnT]|^--(?:force|no-dereference|no-target-directory)/u.test(text),
  )
  if (replaces || !frame.scope.links.has(path)) frame.scope.links.set(path, from)
  // The target may be an existing directory.
  if (base !== "") frame.scope.links.set(`${path}/${base}`, from)
}

const MOST_LINKS = 100

/** Programs that write what the line does not say to a file; a script that such a file holds is not known. */
export function rememberDownloads(name: string, { argv, frame }: Call): void {
  const targets = FILES_OF.get(name)?.(argv) ?? []
  const text = name === "tee" ? frame.input.text : undefined
  const appends = name === "tee" && argv.some((word) => word.text === "-a" || word.text === "--append")
  for (const target of targets) rememberFile(target, { text, appends }, frame.scope)
}

const FILES_OF: ReadonlyMap<string, (argv: readonly Field[]) => readonly Field[]> = new Map([
  ["curl", downloads(["-o", "--output"], ["-O", "--remote-name"])],
  ["wget", downloads(["-O", "--output-document"], undefined)],
  ["tee", (argv: readonly Field[]) => argv.slice(1).filter(({ text }) => !text.startsWith("-"))],
])

/** The file of an option, or the last part of each address. */
function downloads(
  options: readonly string[],
  byName: readonly string[] | undefined,
): (argv: readonly Field[]) => readonly Field[] {
  return (argv) => {
    const given = optionValue(argv, options)
    if (given !== undefined) return [given.word]
    const isNamed = byName === undefined || argv.some(({ text }) => byName.includes(text) || /^-\w*O/u.test(text))
    if (!isNamed) return []
    return argv
      .slice(1)
      .filter(({ text, known }) => known && !text.startsWith("-") && text.includes("/"))
      .map(({ text }) =>
        knownWord(
          text
            .replace(/[?#].*$/u, "")
            .split("/")
            .at(-1) ?? "",
        ),
      )
  }
}
