import { posix } from "node:path"

import { findCommand, optionValue } from "./nested/unwrap.ts"
import type { Call, Field } from "./interpreter.ts"
import type { Scope } from "./scope.ts"

/** Stands for every remote in `ShellState.remotes`. */
export const ANY_REMOTE = "*"

const GLOBAL = { short: "cC", long: "--git-dir --work-tree --namespace --config-env --super-prefix".split(" ") }
const REMOTE_OPTIONS = { short: "tm", long: [] }
const CONFIG_OPTIONS = { short: "f", long: "--file --blob --type --default --comment --value --url".split(" ") }
const CLONE_OPTIONS = {
  short: "boujc",
  long: "--branch --origin --upload-pack --jobs --config --depth --reference --reference-if-able --separate-git-dir --template --filter --shallow-since --shallow-exclude --server-option --bundle-uri --name".split(
    " ",
  ),
}

/** Remembers where a push leads since a command added or changed a remote repository, or cloned one. */
export function rememberRemotes(name: string, { argv, frame }: Call): void {
  const { scope } = frame
  if (frame.source === "remote") return
  if (scope.remotes.size >= MOST_REMOTES) {
    // No further ones are kept, so that any may have changed.
    scope.remotes.add(ANY_REMOTE)
    return
  }
  if (name === "gh") {
    if (argv[1]?.text === "repo" && argv[2]?.text === "clone")
      addClone(operandsOf(argv, 3, CLONE_OPTIONS), argv, scope, true)
    return
  }
  if (COPYING.has(name)) addCopies(name, argv, scope)
  if (UNPACKING.has(name)) addUnpacked(argv, scope)
  if (name !== "git" && name !== "jj") return
  const start = name === "jj" && argv[1]?.text === "git" ? 2 : 1
  const at = findCommand(argv, GLOBAL, start)?.at
  if (at === undefined) return
  switch (argv[at]?.text) {
    case "remote":
      changeRemote(operandsOf(argv, at + 1, REMOTE_OPTIONS), scope)
      return
    case "config":
      changeSetting(argv.slice(at + 1), scope)
      return
    case "clone":
      addClone(operandsOf(argv, at + 1, CLONE_OPTIONS), argv, scope)
      return
    case "submodule": {
      const [action, ...operands] = operandsOf(argv, at + 1, CLONE_OPTIONS)
      if (action?.text === "add") addClone(operands, argv, scope)
      if (action?.text === "set-url") addClone([operands[0], operands[0]], argv, scope)
      return
    }
    default:
  }
}

const MOST_REMOTES = 200

function changeRemote([action, first, second]: readonly Field[], { remotes }: Scope): void {
  const name = (word: Field | undefined): string => (word?.known === true ? word.text : ANY_REMOTE)
  if (action?.text === "add" || action?.text === "set-url") remotes.add(name(first))
  else if (action?.text === "rename" && (remotes.has(name(first)) || first?.known !== true)) remotes.add(name(second))
}

/** Settings with the address of a remote. */
export const ADDRESS_SETTING = /^remote\.(.+)\.(?:push)?url$/iu
/** Settings that lead any push elsewhere: other addresses for known ones, groups, files with more settings. */
const LEADING_SETTING = /^(?:url\..+\.(?:push)?insteadof|remotes\..+|include(?:if)?\..*path)$/iu
/** Settings that choose the remote of a push without a name. */
const CHOOSING_SETTING = /^(?:remote\.pushdefault|branch\..+\.(?:push)?remote)$/iu

/** The remote that a setting changes, `*` for any of them; undefined for a setting that changes none. */
export function remoteChangedBy(
  name: string,
  value: string | undefined,
  remotes: ReadonlySet<string>,
): string | undefined {
  const address = ADDRESS_SETTING.exec(name)
  if (address !== null) return address[1]
  if (LEADING_SETTING.test(name)) return ANY_REMOTE
  if (!CHOOSING_SETTING.test(name)) return undefined
  return value === undefined || isRepositoryAddress(value) || remotes.has(value) ? ANY_REMOTE : undefined
}

/** An address of a repository, in contrast to the name of a remote or a path of this machine. */
export function isRepositoryAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/|^[^/:\s]+:(?!:)|^\w+::/iu.test(text)
}

function changeSetting(words: readonly Field[], { remotes }: Scope): void {
  if (words.some(({ text }) => /^(?:-e|--edit|edit|--rename-section|rename-section)$/u.test(text))) {
    remotes.add(ANY_REMOTE)
    return
  }
  const operands = operandsOf(words, 0, CONFIG_OPTIONS)
  const at = operands.findIndex(({ text, known }) => !known || text.includes("."))
  const [setting, value] = at === -1 ? [] : operands.slice(at)
  // Without a value it only reads.
  if (setting === undefined || value === undefined) return
  const changed = setting.known
    ? remoteChangedBy(setting.text, value.known ? value.text : undefined, remotes)
    : ANY_REMOTE
  if (changed !== undefined) remotes.add(changed)
}

function addClone(
  operands: readonly (Field | undefined)[],
  argv: readonly Field[],
  { directories, remotes }: Scope,
  isShorthand = false,
): void {
  const [address, given] = operands
  if (address === undefined) return
  const target = given ?? { ...address, text: nameOfClone(address.text) }
  const base = optionValue(argv, ["-C"])?.word.text ?? "."
  const [directory] = directories
  if (!target.known || target.pattern || directory === undefined) {
    remotes.add(ANY_REMOTE)
    return
  }
  const path = posix.resolve(directory, base, target.text)
  remotes.add(path)
  // A clone of a repository on this machine contains nothing new.
  if (isRepositoryAddress(address.text) || !address.known || isShorthand) remotes.add(posix.join(path, ".git"))
}

const COPYING: ReadonlySet<string> = new Set(["cp", "gcp", "rsync", "mv", "ln"])

/** The copy of a directory may be a repository with the addresses that a command gave it. */
function addCopies(name: string, argv: readonly Field[], { directories: [directory], remotes }: Scope): void {
  const words = argv.slice(1)
  const isRecursive =
    name === "mv" || words.some(({ text }) => /^-[a-zA-Z]*[rRasL]|^--(?:recursive|archive|symbolic)$/u.test(text))
  const operands = words.filter(({ text }) => !text.startsWith("-"))
  const target = operands.at(-1)
  if (!isRecursive || target?.known !== true || directory === undefined || operands.length < 2) return
  const to = posix.resolve(directory, target.text)
  for (const { text } of operands.slice(0, -1)) {
    const base = posix.basename(text)
    // `mv a.ts src` moves a file.
    if (name === "mv" && posix.extname(base) !== "") continue
    const isClone = remotes.has(posix.join(posix.resolve(directory, text), ".git"))
    if (posix.basename(to) === ".git") addCopy(posix.dirname(to))
    if (base === ".git") addCopy(to)
    else {
      const copies = base === "" || base === "." || base === ".." ? [to] : [to, posix.join(to, base)]
      for (const copy of copies) {
        addCopy(copy)
        if (isClone) addCopy(posix.join(copy, ".git"))
      }
    }
  }

  // Copies into the directory itself or above it make no other repository of it.
  function addCopy(path: string): void {
    if (directory !== undefined && !isAbove(path, directory)) remotes.add(path)
  }
}

const UNPACKING: ReadonlySet<string> = new Set(["tar", "gtar", "bsdtar", "unzip", "cpio"])

/** An archive may contain a repository. */
function addUnpacked(argv: readonly Field[], { directories: [directory], remotes }: Scope): void {
  const target = optionValue(argv, ["-C", "--directory", "-d", "-D", "--one-top-level"])?.word
  if (target?.known !== true || directory === undefined) return
  const path = posix.resolve(directory, target.text)
  if (!isAbove(path, directory)) remotes.add(path)
}

function isAbove(path: string, directory: string): boolean {
  return path === "/" || directory === path || directory.startsWith(`${path}/`)
}

function nameOfClone(address: string): string {
  return posix.basename(address.replace(/\/+$/u, "").replaceAll(":", "/")).replace(/\.git$/u, "")
}

function operandsOf(
  argv: readonly Field[],
  start: number,
  options: { readonly short: string; readonly long: readonly string[] },
): readonly Field[] {
  const operands: Field[] = []
  let from = start
  for (;;) {
    const at = findCommand(argv, options, from)?.at
    const word = at === undefined ? undefined : argv[at]
    if (at === undefined || word === undefined) return operands
    operands.push(word)
    from = at + 1
  }
}
