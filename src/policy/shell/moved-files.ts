import type { Call, Field, Frame } from "./interpreter.ts"
import { filePath, fileText, rememberFile } from "./redirections.ts"
import { knownWord } from "./scope.ts"
import { COPYING } from "./written-files.ts"

/** After `mv x.sh y.sh` the new name has the text that is known of the old one. The text of a file that is edited in place is not known. */
export function rememberMovedFiles(name: string, { argv, frame }: Call): void {
  if (name === "dd") rememberDiskCopy(argv, frame)
  else if (EDITING.has(name)) forgetEdited(name, argv, frame)
  else if (MOVING.has(name)) rememberMoves(argv, frame)
}

const MOVING: ReadonlySet<string> = new Set([...COPYING, "rsync", "scp", "gcp"])
const EDITING_ALWAYS: ReadonlySet<string> = new Set(["patch", "ed", "ex", "truncate", "vim", "vi", "nano"])
/** These edit only with the option `-i`. */
const EDITING: ReadonlySet<string> = new Set([...EDITING_ALWAYS, "sed", "gsed", "perl", "ruby"])

function rememberDiskCopy(argv: readonly Field[], frame: Frame): void {
  const value = (key: string): Field | undefined => {
    const word = argv.find(({ text }) => text.startsWith(`${key}=`))
    return word && { ...word, text: word.text.slice(key.length + 1) }
  }
  const target = value("of")
  if (target !== undefined) rememberFile(target, { text: textOf(value("if"), frame), appends: false }, frame.scope)
}

function forgetEdited(name: string, argv: readonly Field[], { scope }: Frame): void {
  if (scope.files.size === 0) return
  if (!EDITING_ALWAYS.has(name) && !argv.some(({ text }) => /^-[a-zA-Z0-9]*i|^--in-place/u.test(text))) return
  for (const word of argv.slice(1)) {
    const path = filePath(word, scope)
    if (path !== undefined && scope.files.has(path)) scope.files.set(path, undefined)
  }
}

function rememberMoves(argv: readonly Field[], frame: Frame): void {
  const { scope } = frame
  const operands = argv.slice(1).filter(({ text }) => !text.startsWith("-"))
  const target = operands.at(-1)
  const to = target === undefined ? undefined : filePath(target, scope)
  if (to === undefined || operands.length < 2) return
  for (const source of operands.slice(0, -1)) {
    const from = filePath(source, scope)
    if (from === undefined) continue
    // The target may be an existing directory.
    const targets = [to, `${to}/${from.split("/").at(-1) ?? ""}`]
    if (scope.files.has(from) || from === INPUT) remember(targets, textOf(source, frame))
    // Each directory is compared with every file.
    const inside = operands.length > MOST_DIRECTORIES ? [] : filesIn(from)
    for (const [path, text] of inside)
      remember(
        targets.map((moved) => moved + path.slice(from.length)),
        text,
      )
  }

  function remember(paths: readonly string[], text: string | undefined): void {
    for (const path of paths) rememberFile(knownWord(path), { text, appends: false }, scope)
  }

  function filesIn(directory: string): readonly (readonly [string, string | undefined])[] {
    return Array.from(scope.files).filter(([path]) => path.startsWith(`${directory}/`))
  }
}

const INPUT = "/dev/stdin"
const MOST_DIRECTORIES = 20

/** What a program reads from a file, or from its input where none is named. */
function textOf(source: Field | undefined, { scope, input }: Frame): string | undefined {
  return source === undefined || source.text === INPUT ? input.text : fileText(source, scope)
}
