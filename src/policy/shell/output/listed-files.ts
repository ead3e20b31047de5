import { resolve } from "node:path/posix"

import type { Call } from "../interpreter.ts"

/** `git ls-files '*.ts'` and `find src -type f -name '*.ts'`: the files that they print, in the notation of `NameSource.paths`. */
export function listedFiles(name: string, { argv, assignments, frame }: Call): readonly string[] {
  const { scope, source, wrappers } = frame
  const [directory, ...others] = scope.directories
  const isOrdinary = source !== "remote" && wrappers.length === 0 && assignments.length === 0 && others.length === 0
  if (!isOrdinary || directory === undefined || argv.length > MOST_WORDS) return NONE
  if ((name !== "git" && name !== "find") || !argv.every(({ known, pattern }) => known && !pattern)) return NONE
  if (scope.alias(name) !== undefined || scope.function(name) !== undefined) return NONE
  const words = argv.slice(1).map(({ text }) => text)
  if (name === "git") {
    const [action, ...patterns] = words
    return action === "ls-files" && patterns.every((text) => EXTENSION.test(text))
      ? patterns.map((pattern) => `${directory}/**/${pattern}`)
      : NONE
  }
  const [, start = ".", extension] = FIND.exec(words.join("\n")) ?? []
  return extension === undefined ? NONE : [`${resolve(directory, start)}/**/${extension}`]
}

const NONE: readonly string[] = []
const MOST_WORDS = 16
const EXTENSION = /^\*\.\w+$/u
const FIND = /^(?![^\n]*\.\.)(?:([\w./][\w./-]*)\n)?(?:-type\nf\n)?-name\n(\*\.\w+)(?:\n-type\nf)?$/u
