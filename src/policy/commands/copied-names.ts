import { posix } from "node:path"
import { isWithin } from "../file-floor.ts"
import type { ShellWord, SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import { TAR_PROGRAMS, UNPACKING_PROGRAMS, unpacking } from "./archives.ts"
import type { Unpacking } from "./archives.ts"
import { absolutePath, withoutTrailingSlash } from "./command-paths.ts"
import type { CommandFacts, Container } from "./command-verdict.ts"
import { pathspecNames } from "./git-output.ts"
import { hasFlag, invocations, optionValues, programName, upstream } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"
import { isSteeringDirectory, pathClass } from "./path-classes.ts"
import { componentGlob, hasGlob } from "./shell-glob.ts"

/** A directory or an archive whose files a command writes elsewhere. */
interface CopiedSource {
  /** The directory or archive itself. */
  readonly path: string
  /** What is matched against the names in it, component by component. */
  readonly pattern: readonly string[]
  /** The directories that the names can be in afterwards. */
  readonly targets: readonly string[]
  /** Each file is copied by itself, without the directories that it is in. */
  readonly isFlat?: true
  /** The names of files that the command is given. */
  readonly names?: (name: string) => boolean
  readonly isArchive?: true
  /** See `Unpacking`. */
  readonly isNested?: true
}

/** The directories and archives whose files the commands of a line write elsewhere. What is in them is looked up when the line is judged. */
export function copiedContainers(understood: UnderstoodCommand, facts: CommandFacts): readonly Container[] {
  const found = understood.commands.flatMap((command) => {
    if (command.source === "remote" || !PROGRAMS.has(programName(command.program ?? ""))) return []
    const [call] = invocations(command, understood, facts)
    return call === undefined
      ? []
      : sourcesOf(call).map(({ path, isArchive }): Container => ({ path, isArchive: isArchive === true }))
  })
  return found
    .filter(({ path }, index) => found.findIndex((other) => other.path === path) === index)
    .slice(0, MOST_CONTAINERS)
}

const MOST_CONTAINERS = 16

/**
 * True when a command writes files over the project whose names cannot be looked up: the source is computed, or the archive has a format that is
 * not read. They may include files that other programs and agents obey.
 */
export function copiesUnknownNames(call: Invocation): boolean {
  if (!COPYING.has(call.program)) return unpacksUnknownNames(call)
  const { words, to, target } = copyOperands(call)
  if (to === undefined || !isOverProject(to, target?.text ?? "", call)) return false
  const isWhole = call.program !== "mv" && call.program !== "ln" && hasFlag(call, RECURSIVE)
  return words.some(({ text, known, pattern }) => {
    if (text.includes("{}")) return /^[$`]/u.test(text) || isFedUnknown(call, isWhole)
    if (known) return pattern && hasGlob(posix.dirname(text)) && /\/(?:\.|[*?[][^/]*)?$/u.test(text)
    // What comes after the last slash is the new name.
    const name = text.slice(text.lastIndexOf("/") + 1)
    if (REMOTE.test(text)) return false
    if (/^\.{0,2}$/u.test(name)) return isWhole
    if (!pattern || !hasGlob(name)) return isWhole && /[$`)]/u.test(name)
    return OBEYED_NAMES.some(componentGlob(name))
  })
}

/** `find $D -exec cp {} . \\;`, unless the names that it looks for are ordinary ones; `xargs -I{} cp -r {}/. . < list`. */
function isFedUnknown({ command, understood }: Invocation, isWhole: boolean): boolean {
  const listers = [...command.wrappers, ...upstream(command, understood)].filter(({ program = "" }) =>
    LISTERS.has(program),
  )
  if (listers.length === 0) return isWhole
  return listers.some(
    ({ argv }) =>
      startingDirectories(argv).some(({ known }) => !known) && OBEYED_NAMES.some((name) => namesFound(argv)(name)),
  )
}

/** Examples of names, each of which a pattern may have left out on purpose. */
const OBEYED_NAMES = [".envrc", ".vscode", "AGENTS.md", "tasks.json", "pre-commit"]

/** `host:path`, as rsync and scp write it. */
const REMOTE = /^[\w.@-]+:/u

function unpacksUnknownNames(call: Invocation): boolean {
  const found = unpacking(call)
  if (found?.to === undefined || !isOverProject(found.to, found.hasTarget ? found.to : ".", call)) return false
  if (found.archives.some(({ known }) => !known) || (TAR_PROGRAMS.has(call.program) && packsUnknown(call))) return true
  const { contained } = call.facts
  return unpacked(call).some(
    ({ path, isArchive, isNested }) =>
      isArchive === true && contained?.has(path) === true && (isNested === true || contained.get(path) === undefined),
  )
}

/** `(cd $D; tar c .) | tar x` */
function packsUnknown({ command, understood, facts }: Invocation): boolean {
  return upstream(command, understood).some((packing) => {
    const [call] = TAR_PROGRAMS.has(packing.program ?? "") ? invocations(packing, understood, facts) : []
    if (call === undefined || packing.source === "remote") return false
    const [given] = optionValues(call, "-C", "--directory")
    const isUnknown = given === undefined ? packing.directory === undefined : !given.known
    return isUnknown || call.operands.some(({ known }) => !known)
  })
}

/** The workspace itself, or the directory in it that the command runs in. Others have a name that the command says. */
function isOverProject(to: string, target: string, { command, facts }: Invocation): boolean {
  if (to === facts.workspaceRoot) return true
  return isWithin(to, facts.workspaceRoot) && to === command.directory && /^\.?\/?\.?$/u.test(target)
}

/** The protected files that a command writes because a directory or an archive contains them. */
export function copiedNames(call: Invocation): readonly ShellWord[] {
  const { contained } = call.facts
  const archived = TAR_PROGRAMS.has(call.program) ? fromGitArchive(call) : []
  if (contained === undefined || !PROGRAMS.has(call.program)) return archived
  const copies = sourcesOf(call).flatMap(({ path, pattern, targets, isFlat, names }) =>
    (contained.get(path) ?? [])
      .filter((name) => matchesStart(name, pattern) && (names === undefined || names(posix.basename(name))))
      .flatMap((name) => targets.map((target) => posix.join(target, isFlat === true ? posix.basename(name) : name)))
      .filter((written) => isProtected(written, call.facts))
      .slice(0, MOST_NAMES)
      .map((text) => ({ text, known: true, pattern: false })),
  )
  return [...copies, ...archived]
}

/** `git archive COMMIT .envrc | tar x` */
function fromGitArchive(call: Invocation): readonly ShellWord[] {
  const [command] = upstream(call.command, call.understood).filter(({ program }) => program === "git")
  const to = command === undefined ? undefined : unpacking(call)?.to
  if (command === undefined || to === undefined) return []
  const at = command.argv.findIndex(({ text }) => text === "archive")
  const operands = at === -1 ? [] : command.argv.slice(at + 1).filter(({ text }) => !text.startsWith("-"))
  return operands
    .slice(1)
    .flatMap((word) => pathspecNames(word, to).map((named) => ({ ...named, text: posix.resolve(to, named.text) })))
}

const MOST_NAMES = 20

function matchesStart(name: string, pattern: readonly string[]): boolean {
  const parts = name.split("/")
  return pattern.every((part, index) => componentGlob(part)(parts[index] ?? ""))
}

/** Backups elsewhere contain the same files. A repository that is copied as a whole has hooks of its own. */
function isProtected(path: string, facts: CommandFacts): boolean {
  const repository = path.indexOf("/.git/")
  if (repository !== -1) return path.slice(0, repository) === facts.workspaceRoot
  const found = pathClass(path, facts)
  if (found === "project env/config") return false
  if (found !== undefined && found !== "executed by tools" && found !== "agent instructions") return true
  return isWithin(path, facts.workspaceRoot) && (found !== undefined || isSteeringDirectory(path, facts))
}

/** The files of the workspace itself are obeyed already, so that a copy of them is nothing new. */
function sourcesOf(call: Invocation): readonly CopiedSource[] {
  const sources = COPYING.has(call.program) ? copied(call) : [...passedOn(call), ...unpacked(call)]
  return sources.filter(({ path }) => !isWithin(call.facts.workspaceRoot, path))
}

const COPYING: ReadonlySet<string> = new Set(["cp", "gcp", "mv", "rsync", "scp", "install", "ln"])
export const COPYING_PROGRAMS: readonly string[] = [...COPYING, ...UNPACKING_PROGRAMS]
const PROGRAMS: ReadonlySet<string> = new Set(COPYING_PROGRAMS)

interface CopyOperands {
  readonly words: readonly ShellWord[]
  readonly target: ShellWord | undefined
  readonly to: string | undefined
}

const PRINTS_ROOT = /^(?:\$\(|`)\s*git rev-parse --show-toplevel[^)`]*[)`]\/?\.?$/u

function copyOperands(call: Invocation): CopyOperands {
  const given = optionValues(call, "-t", "--target-directory")
  const target = given[0] ?? (call.operands.length > 1 ? call.operands.at(-1) : undefined)
  const to =
    target === undefined
      ? undefined
      : target.known
        ? absolutePath(target, call.command.directory)
        : PRINTS_ROOT.test(target.text)
          ? call.facts.workspaceRoot
          : undefined
  const words = given.length > 0 ? call.operands.filter((word) => !given.includes(word)) : call.operands.slice(0, -1)
  return { words, target, to }
}

/** `cp -r tpl/. .`, `mv tpl/* .`, `rsync -a tpl/ ./`. */
function copied(call: Invocation): readonly CopiedSource[] {
  const { directory } = call.command
  const { words, to } = copyOperands(call)
  if (to === undefined) return []
  const isWhole = call.program === "mv" || call.program === "ln" || hasFlag(call, RECURSIVE)
  const fed = words.some(({ text, known }) => !known && text.includes("{}")) ? foundSources(call, to) : []
  const named = words.flatMap((word): readonly CopiedSource[] => {
    if (!word.known || word.text.includes(":")) return []
    const path = absolutePath(word, directory)
    if (path === undefined || (!isWhole && !hasGlob(path))) return []
    const parts = path.split("/")
    const at = word.pattern ? parts.findIndex(hasGlob) : -1
    if (at !== -1) {
      const base = parts.slice(0, at).join("/") || "/"
      // The components above the last one of the pattern are not part of the new names.
      const depth = parts.length - at
      return depth === 1 ? [{ path: base, pattern: parts.slice(at), targets: [to] }] : []
    }
    // Whether the target exists decides if the directory itself or its content is put there.
    const isContent = /(?:^|\/)\.?$/u.test(word.text) || isContentOnly(call)
    return [{ path, pattern: [], targets: isContent ? [to] : [to, posix.join(to, posix.basename(path))] }]
  })
  return [...fed, ...named]
}

/** `find tpl -name '.env*' -exec cp {} . \\;`, `ls -A tpl | xargs -I{} mv tpl/{} .` */
function foundSources(call: Invocation, to: string): readonly CopiedSource[] {
  const { command, understood } = call
  const isFed = command.wrappers.some(({ program }) => program === "xargs" || program === "parallel")
  const listers = [
    ...command.wrappers.map(({ program, argv }) => ({ program, argv, directory: command.directory })),
    ...(isFed ? upstream(command, understood) : []),
  ].filter(({ program }) => LISTERS.has(program ?? ""))
  return listers.flatMap(({ argv, directory }) =>
    startingDirectories(argv)
      .flatMap((word) => (word.known ? (absolutePath(word, directory) ?? []) : []))
      .map((path) => ({ path, pattern: [], targets: [to], isFlat: true as const, names: namesFound(argv) })),
  )
}

const LISTERS: ReadonlySet<string> = new Set("find gfind ls".split(" "))

/** The condition that `-name` is; negated ones let most names through. */
function namesFound(argv: readonly ShellWord[]): (name: string) => boolean {
  const globs = argv.flatMap(({ text }, index) =>
    /^-i?name$/u.test(argv[index - 1]?.text ?? "") && !/^(?:!|-not)$/u.test(argv[index - 2]?.text ?? "")
      ? [componentGlob(text)]
      : [],
  )
  return (name) => globs.length === 0 || globs.some((matches) => matches(name))
}

/** The operands before the conditions of `find`; options of `ls` come first. */
function startingDirectories(argv: readonly ShellWord[]): readonly ShellWord[] {
  const words = argv.slice(1)
  const first = words.findIndex(({ text }) => !text.startsWith("-"))
  const rest = first === -1 ? [] : words.slice(first)
  const end = rest.findIndex(({ text }) => /^[-(!]/u.test(text))
  const starts = end === -1 ? rest : rest.slice(0, end)
  return starts.length === 0 ? [HERE] : starts
}

const RECURSIVE = /^-[a-zA-Z]*[rRa]|^--(?:recursive|archive)$/u

function isContentOnly(call: Invocation): boolean {
  return hasFlag(call, /^-[a-zA-Z]*T|^--no-target-directory$/u)
}

/** `find tpl | cpio -pd .` */
function passedOn(call: Invocation): readonly CopiedSource[] {
  if (call.program !== "cpio") return []
  const isPassing = hasFlag(call, /^-[a-zA-Z]*p|^--pass-through$/u)
  const [word] = call.operands.slice(-1)
  const to = word === undefined ? undefined : absolutePath(word, call.command.directory)
  if (!isPassing || to === undefined) return []
  return upstream(call.command, call.understood).flatMap((command) => {
    if (!/^g?find$/u.test(command.program ?? "")) return []
    return relativeSources(startingDirectories(command.argv), command.directory, to)
  })
}

const HERE: ShellWord = { text: ".", known: true, pattern: false }

/** The names keep the directories that they are given with. */
function relativeSources(words: readonly ShellWord[], from: string | undefined, to: string): readonly CopiedSource[] {
  return words.flatMap((word) => {
    const path = word.known ? absolutePath(word, from) : undefined
    if (path === undefined) return []
    return [{ path, pattern: [], targets: [posix.join(to, word.text.startsWith("/") ? "." : word.text)] }]
  })
}

/** `tar xf x.tgz`, `unzip x.zip`, `tar c -C tpl . | tar x`. */
function unpacked(call: Invocation): readonly CopiedSource[] {
  const { directory } = call.command
  const { archives, to, isNested, strips } = unpacking(call) ?? NOTHING
  if (to === undefined) return []
  const named = archives.flatMap((word): readonly CopiedSource[] => {
    const path = word.known && word.text !== "-" ? absolutePath(word, directory) : undefined
    if (path === undefined || isWithin(to, path)) return []
    return [{ path, pattern: [], targets: [to], isArchive: true, ...(isNested === true ? { isNested } : {}) }]
  })
  return strips === true ? named : [...named, ...piped(call, to)]
}

const NOTHING: Pick<Unpacking, "archives" | "to" | "isNested" | "strips"> = { archives: [], to: undefined }

/** What another `tar` packs in the same pipeline. */
function piped(call: Invocation, to: string): readonly CopiedSource[] {
  return upstream(call.command, call.understood).flatMap((command: SimpleCommand) => {
    if (!TAR_PROGRAMS.has(command.program ?? "")) return []
    const [packing] = invocations(command, call.understood, call.facts)
    if (packing === undefined) return []
    const [given] = optionValues(packing, "-C", "--directory")
    const from = given === undefined ? command.directory : absolutePath(given, command.directory)
    const words = packing.operands.filter(
      ({ text }) => text !== given?.text && text !== "-" && !/^[a-zA-Z]{1,4}$/u.test(text),
    )
    return relativeSources(words, from === undefined ? undefined : withoutTrailingSlash(from), to)
  })
}
