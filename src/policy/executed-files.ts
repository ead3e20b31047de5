import { isAbsolute, join, normalize } from "node:path"

import type { SimpleCommand, UnderstoodCommand } from "./shell/understood-command.ts"

/**
 * The files whose content decides what a command does: programs that are started by path, scripts of interpreters, and the files that
 * build tools take their commands from. An approval is bound to their content.
 */
export function executedFiles({ commands }: UnderstoodCommand): readonly string[] {
  return [...new Set(commands.flatMap(filesOf))]
}

function filesOf(command: SimpleCommand): readonly string[] {
  if (command.remote !== undefined) return []
  const { argv, program = "", input } = command
  const [first, ...rest] = argv.map(({ text }) => text)
  const started = first?.includes("/") === true ? [first] : []
  const script = INTERPRETERS.has(program.replace(/[\d.]+$/u, "")) ? executedWords(rest) : []
  const read = INTERPRETERS.has(program) && input?.kind === "file" ? [input.path.text] : []
  const names = [...started, ...script, ...read, ...(BUILD_FILES[program] ?? [])]
  return names.flatMap((name) => {
    if (isAbsolute(name)) return [normalize(name)]
    return command.directory === undefined ? [] : [join(command.directory, name)]
  })
}

/** The script of an interpreter and the modules that it loads first; options are read up to the script. */
export function executedWords(words: readonly string[]): readonly string[] {
  const found: string[] = []
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? ""
    if (!word.startsWith("-") || word === "-") return [...found, word]
    const attached = /^(?:--(?:require|import|loader|experimental-loader|preload)=|-r(?=[./]))([^]+)$/u.exec(word)?.[1]
    if (attached !== undefined) found.push(attached)
    if (!LOADS.test(word) && !WITH_VALUE.test(word)) continue
    index += 1
    if (LOADS.test(word)) found.push(words[index] ?? "")
  }
  return found
}

const LOADS = /^(?:-r|--(?:require|import|loader|experimental-loader|preload))$/u
const WITH_VALUE = /^(?:-[WXCIQE]|--(?:env-file|conditions|max-old-space-size|input-type|stack-size|config))$/u

const INTERPRETERS: ReadonlySet<string> = new Set(
  "sh bash dash zsh ksh fish python pypy node deno bun ruby perl php lua Rscript source . osascript pwsh awk gawk tclsh".split(
    " ",
  ),
)

const BUILD_FILES: Readonly<Record<string, readonly string[]>> = {
  make: ["Makefile", "makefile", "GNUmakefile"],
  gmake: ["Makefile", "makefile", "GNUmakefile"],
  just: ["justfile", "Justfile", ".justfile"],
  task: ["Taskfile.yml", "Taskfile.yaml"],
  rake: ["Rakefile"],
  npm: ["package.json"],
  pnpm: ["package.json"],
  yarn: ["package.json"],
  bun: ["package.json"],
}
