import { posix } from "node:path"
import type { ShellWord, SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { computedForms } from "./computed-paths.ts"
import { isOutput } from "./invocation.ts"
import { hasGlob } from "./shell-glob.ts"

/** Absolute paths that a command may touch: operands and targets of redirections, and for a pattern the directory it is looked for in. */
export function mentionedPaths(understood: UnderstoodCommand): readonly string[] {
  const found = new Set<string>()
  for (const command of understood.commands) {
    if (command.source === "remote") continue
    if (command.directory !== undefined) found.add(command.directory)
    for (const word of pathWords(command)) {
      const path = unresolvedPath(word.text, command.directory)
      if (path === undefined || path.length > MAX_PATH || found.size > MAX_PATHS) continue
      // A file that does not exist yet has a directory that may be a link.
      found.add(path).add(posix.dirname(path))
      if (hasGlob(path)) found.add(staticPrefix(path))
      if (NOT_NORMAL.test(path)) {
        found.add(posix.dirname(posix.normalize(path)))
        const above = PARENT.exec(path)
        if (above !== null && above.index > 0) found.add(path.slice(0, above.index))
      }
    }
  }
  return [...found]
}

const PARENT = /\/\.\.(?=\/|$)/u
const NOT_NORMAL = /\/\.{0,2}(?:\/|$)/u

/** True when a line names more paths than are looked up. */
export function namesTooManyPaths(understood: UnderstoodCommand): boolean {
  const words = understood.commands.reduce((sum, { argv, redirections }) => sum + argv.length + redirections.length, 0)
  return words * 3 > MAX_PATHS
}

/** No file system has longer paths. */
const MAX_PATH = 4096
const MAX_PATHS = 6000

function pathWords(command: SimpleCommand): readonly ShellWord[] {
  const files = command.input?.kind === "file" ? [command.input.path] : []
  const words = [...command.redirections.map(({ target }) => target), ...files, ...command.argv]
  return words.flatMap((word) => {
    const value = word.text.includes("=") ? /^(?:--?[\w-]+|[\w-]+)=(.+)$/su.exec(word.text)?.[1] : undefined
    if (value !== undefined) return { ...word, text: value }
    return word.text.startsWith("-") || word.text === "" ? [] : word
  })
}

/** The absolute path of a word, normalized; undefined when it depends on something that is not known. */
export function absolutePath(word: ShellWord, directory: string | undefined): string | undefined {
  const path = unresolvedPath(word.text, directory)
  return path === undefined ? undefined : withoutTrailingSlash(posix.normalize(path))
}

/** Keeps `..`, which leads elsewhere behind a symbolic link. */
function unresolvedPath(text: string, directory: string | undefined): string | undefined {
  const plain = ASCII.test(text) ? text : text.normalize("NFKC")
  if (plain.startsWith("/")) return plain
  if (directory === undefined || COMPUTED_START.test(plain)) return undefined
  return `${directory}/${plain}`
}

/** A part that the shell or a program such as `xargs` replaces. */
const COMPUTED_PART = /[$`]|\{\}/u
const PROCESS = /^[<>]\(/u
const ASCII = /^[\n\t -~]*$/u
const COMPUTED_START = /^(?:\$|`|<\(|>\()/u

/** The path of a word as written and with symbolic links resolved. */
export function pathForms(word: ShellWord, directory: string | undefined, facts: CommandFacts): readonly string[] {
  const unresolved = unresolvedPath(word.known ? word.text : withHermesHome(word.text, facts), directory)
  if (unresolved === undefined) return PROCESS.test(word.text) ? [] : computedForms(word, facts)
  if (!word.known && COMPUTED_PART.test(word.text)) {
    const computed = computedForms(word, facts)
    if (computed.length > 0) return [...resolvedForms(unresolved, facts), ...computed]
  }
  const known = facts.pathForms?.get(unresolved)
  if (known !== undefined) return known
  const forms = resolvedForms(unresolved, facts)
  facts.pathForms?.set(unresolved, forms)
  return forms
}

function resolvedForms(unresolved: string, facts: CommandFacts): readonly string[] {
  const literal = withoutTrailingSlash(posix.normalize(unresolved))
  const prefix = staticPrefix(unresolved)
  const rest = unresolved.slice(prefix.length)
  const real = posix.normalize(facts.realPath(prefix === "" ? "/" : prefix) + rest)
  const others = [withoutTrailingSlash(real), ...realDirectoryForm(literal, facts), ...aboveLinkForm(unresolved, facts)]
  return others.every((path) => path === literal) ? [literal] : [...new Set([literal, ...others])]
}

/** The kernel follows `link` in `link/../x` before it goes up, in contrast to a comparison of the text. */
function aboveLinkForm(path: string, facts: CommandFacts): readonly string[] {
  const above = PARENT.exec(path)
  if (above === null || above.index === 0) return []
  return [withoutTrailingSlash(posix.normalize(facts.realPath(path.slice(0, above.index)) + path.slice(above.index)))]
}

function withHermesHome(text: string, { hermesHome }: CommandFacts): string {
  return text.replace(/^\$(?:HERMES_HOME(?!\w)|\{HERMES_HOME\})/u, hermesHome)
}

/** The path of a link itself, in the real directory that it is in. */
export function linkInRealDirectory(
  word: ShellWord,
  directory: string | undefined,
  facts: CommandFacts,
): string | undefined {
  const path = unresolvedPath(word.text, directory)
  if (path === undefined || path === "/") return path
  const parent = posix.dirname(path)
  const [above = facts.realPath(parent)] = aboveLinkForm(parent, facts)
  return posix.join(above, posix.basename(path))
}

/** A file that does not exist yet has no real path of its own, but its directory may have one. */
function realDirectoryForm(path: string, facts: CommandFacts): readonly string[] {
  if (hasGlob(path) || path === "/") return []
  const directory = posix.dirname(path)
  const real = facts.realPath(directory)
  return real === directory ? [] : [posix.join(real, posix.basename(path))]
}

/** The part of a path before the first component with a pattern. */
function staticPrefix(path: string): string {
  const parts = path.split("/")
  const first = parts.findIndex(hasGlob)
  return first === -1 ? path : parts.slice(0, first).join("/") || "/"
}

export function withoutTrailingSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.replace(/\/+$/u, "") || "/" : path
}

/** Paths that redirections of a command write to. */
export function outputTargets(command: SimpleCommand): readonly ShellWord[] {
  if (command.redirections.length === 0) return NO_WORDS
  return command.redirections
    .filter((redirection) => isOutput(redirection) && !isDescriptor(redirection.target))
    .map(({ target }) => target)
}

const NO_WORDS: readonly ShellWord[] = []

function isDescriptor({ text }: ShellWord): boolean {
  return /^(?:\d+-?|-)$/u.test(text)
}
