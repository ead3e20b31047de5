import { resolve } from "node:path/posix"

import type { Call, Field } from "../interpreter.ts"
import type { NameSource } from "../understood-command.ts"

const MOST_WORDS = 64
const MOST_PATHS = 8
const MOST_INPUT = 4096

/** Paths that a program may print because its arguments or its input name them. Undefined when there are none. */
export function printedPaths(name: string, call: Call): NameSource | undefined {
  const { argv, frame } = call
  const found = FINDERS.has(name) ? foundPaths(call) : []
  const isDeep = LISTS_BELOW.has(name)
  if (!FINDERS.has(name) && !OWN_RULES.has(name)) {
    for (const word of argv.slice(1, MOST_WORDS)) {
      const path = argumentPath(word, call)
      if (path !== undefined && found.length < MOST_PATHS) found.push(isDeep ? `${path}/` : path)
    }
  }
  const edited = [...inputPaths(frame.input.text), ...(OWN_RULES.has(name) ? [] : scriptPaths(argv))]
  const paths = [...found, ...edited]
  if (paths.length === 0) return undefined
  return { files: [], isHidden: false, paths, ...(edited.length === 0 ? {} : { isEdited: true }) }
}

/** Programs that print what is below the directories that they are given, with all files whose names begin with a dot. */
const LISTS_BELOW = new Set(["du", "tree", "git", "compgen"])
/** What these print is judged by where they look and what they look for. */
const FINDERS = new Set(["find", "gfind"])
const OWN_RULES = new Set(["fd", "fdfind", "ls", "locate", "rg", "grep", "egrep", "fgrep", "echo", "printf"])

/** A word that is no path, as in `cut -f2`, names a file that nothing protects. */
function argumentPath({ text, known }: Field, { frame }: Call): string | undefined {
  const value = text.startsWith("-") ? (/^--[\w-]+=(.+)$/su.exec(text)?.[1] ?? "") : text
  if (!known || !(value.includes("/") || value.startsWith(".")) || value.length > MOST_INPUT) return undefined
  return absolute(value, frame)
}

function absolute(text: string, { scope }: Call["frame"]): string | undefined {
  const [directory] = scope.directories
  return text.startsWith("/") ? resolve(text) : directory && resolve(directory, text)
}

/** The absolute paths in a text that a program reads and may change before it prints them. */
function inputPaths(text: string | undefined): readonly string[] {
  if (text?.includes("/") !== true) return []
  return text
    .slice(0, MOST_INPUT)
    .split(/[\s"'`,;|<>()[\]{}=]+/u)
    .filter((word) => word.startsWith("/"))
    .slice(0, MOST_PATHS)
}

/** Paths inside a word, as in `date +/path` or in a script. */
function scriptPaths(argv: readonly Field[]): readonly string[] {
  const found: string[] = []
  for (const { text } of argv.slice(1, MOST_WORDS)) {
    if (text.startsWith("/") || !text.includes("/") || text.length > MOST_INPUT) continue
    for (const [, path] of text.matchAll(INNER_PATH))
      if (path !== undefined && found.length < MOST_PATHS) found.push(path)
  }
  return found
}

const INNER_PATH = /(?:^|[^\w.~/$-])(\/[\w.@%+-]+\/[\w.@%+/-]+)/gu

/** `find ~ -name .bashrc` prints files of that name below the directory. */
function foundPaths({ argv, frame }: Call): string[] {
  const end = argv.findIndex(({ text }, index) => index > 0 && /^(?:-(?![HLPDO])|[(!])/u.test(text))
  const starts = (end === -1 ? argv : argv.slice(0, end)).slice(1).filter(({ text }) => !text.startsWith("-"))
  const directories = (starts.length === 0 ? ["."] : starts.flatMap(({ text, known }) => (known ? [text] : [])))
    .flatMap((text) => absolute(text, frame) ?? [])
    .slice(0, MOST_PATHS)
  const names = argv.flatMap(({ text }, index) => (/^-i?name$/u.test(argv[index - 1]?.text ?? "") ? [text] : []))
  return directories.flatMap((directory) =>
    names.length === 0 ? [`${directory}/**/*`] : names.slice(0, MOST_PATHS).map((name) => `${directory}/**/${name}`),
  )
}
