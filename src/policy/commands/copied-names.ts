import { posix } from "node:path"
import { isWithin } from "../file-floor.ts"
import type { ShellWord, SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import { absolutePath, withoutTrailingSlash } from "./command-paths.ts"
import type { CommandFacts } from "./command-verdict.ts"
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
}

/** The directories and archives whose files the commands of a line write elsewhere. What is in them is looked up when the line is judged. */
export function copiedContainers(understood: UnderstoodCommand, facts: CommandFacts): readonly string[] {
  const found = understood.commands.flatMap((command) => {
    if (command.source === "remote" || !PROGRAMS.has(programName(command.program ?? ""))) return []
    const [call] = invocations(command, understood, facts)
    return call === undefined ? [] : sourcesOf(call).map(({ path }) => path)
  })
  return [...new Set(found)].slice(0, MOST_CONTAINERS)
}

const MOST_CONTAINERS = 16

/** The protected files that a command writes because a directory or an archive contains them. */
export function copiedNames(call: Invocation): readonly ShellWord[] {
  const { contained } = call.facts
  const archived = TAR.has(call.program) ? fromGitArchive(call) : []
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
  const to = command === undefined ? undefined : extractedTo(call)
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
  const sources = COPYING.has(call.program) ? copied(call) : call.program === "cpio" ? passedOn(call) : unpacked(call)
  return sources.filter(({ path }) => !isWithin(call.facts.workspaceRoot, path))
}

const COPYING: ReadonlySet<string> = new Set(["cp", "gcp", "mv", "rsync", "scp", "install", "ln"])
const TAR: ReadonlySet<string> = new Set(["tar", "gtar", "bsdtar", "jar"])
const PROGRAMS: ReadonlySet<string> = new Set([...COPYING, ...TAR, "cpio", "unzip", "7z", "7za"])

/** `cp -r tpl/. .`, `mv tpl/* .`, `rsync -a tpl/ ./`. */
function copied(call: Invocation): readonly CopiedSource[] {
  const { directory } = call.command
  const given = optionValues(call, "-t", "--target-directory")
  const target = given[0] ?? (call.operands.length > 1 ? call.operands.at(-1) : undefined)
  const to = target === undefined || !target.known ? undefined : absolutePath(target, directory)
  if (to === undefined) return []
  const words = given.length > 0 ? call.operands.filter((word) => !given.includes(word)) : call.operands.slice(0, -1)
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
  const isZip = !TAR.has(call.program)
  const bundle = /^[a-zA-Z]+$/u.test(call.words[0]?.text ?? "") ? (call.words[0]?.text ?? "") : ""
  const letters = [bundle, ...call.flags.filter((flag) => /^-[a-zA-Z]/u.test(flag))].join("")
  if (isZip ? call.program === "unzip" && hasFlag(call, /^-[a-zA-Z]*[ltvpZ]/u) : !isExtracting(call, letters)) return []
  const to = extractedTo(call)
  if (to === undefined) return []
  const archives = isZip ? zipFiles(call) : tarFiles(call, bundle)
  const strips = optionValues(call, "--strip-components", "--strip").length > 0
  const named = archives.flatMap((word): readonly CopiedSource[] => {
    const path = word.known && word.text !== "-" ? absolutePath(word, directory) : undefined
    return path === undefined || isWithin(to, path) ? [] : [{ path, pattern: [], targets: [to] }]
  })
  return strips ? named : [...named, ...piped(call, to)]
}

function extractedTo(call: Invocation): string | undefined {
  const { directory } = call.command
  const options = TAR.has(call.program) ? ["-C", "--directory"] : call.program === "unzip" ? ["-d"] : ["-o"]
  const [given] = optionValues(call, ...options)
  return given === undefined ? directory : absolutePath(given, directory)
}

function isExtracting(call: Invocation, letters: string): boolean {
  return letters.includes("x") || hasFlag(call, /^--(?:extract|get)$/u)
}

function tarFiles(call: Invocation, bundle: string): readonly ShellWord[] {
  const named = optionValues(call, "-f", "--file")
  const packed = call.words.flatMap((word, index) =>
    /^-[a-zA-Z]*f$/u.test(word.text) ? (call.words[index + 1] ?? []) : [],
  )
  const bundled = bundle.includes("f") ? call.words.slice(1, 2) : []
  const input = call.command.input?.kind === "file" ? [call.command.input.path] : []
  const printed = upstream(call.command, call.understood).flatMap(({ program = "", argv }) =>
    PRINTING.has(program) ? argv.slice(1).filter(({ text }) => !text.startsWith("-")) : [],
  )
  return [...new Set([...named, ...packed, ...bundled, ...input, ...printed])]
}

const PRINTING: ReadonlySet<string> = new Set("cat zcat gunzip gzip pigz pv".split(" "))

function zipFiles(call: Invocation): readonly ShellWord[] {
  // `unzip a` looks for `a.zip` too.
  if (call.program === "unzip")
    return call.operands.slice(0, 1).flatMap((word) => [word, { ...word, text: `${word.text}.zip` }])
  return /^[xe]$/u.test(call.operands[0]?.text ?? "") ? call.operands.slice(1, 2) : []
}

/** What another `tar` packs in the same pipeline. */
function piped(call: Invocation, to: string): readonly CopiedSource[] {
  return upstream(call.command, call.understood).flatMap((command: SimpleCommand) => {
    if (!TAR.has(command.program ?? "")) return []
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
