import { isAbsolute, join } from "node:path"

import { ellipsize } from "../base/text.ts"
import { isCodeVariable } from "./commands/code-variables.ts"
import { isWithin } from "./file-floor.ts"
import type { ShellState, SimpleCommand, UnderstoodCommand } from "./shell/understood-command.ts"

/**
 * What earlier commands changed in the shell so that a command line may start other programs than it names. One clause for each change, for the
 * question: the user sees only the line itself.
 */
export function shellChanges({ variables, sourced }: ShellState): readonly string[] {
  return [
    ...[...variables].flatMap(([name, value]) => {
      if (!changesPrograms(name, value)) return []
      const set = `an earlier command of this session set ${name}${value === undefined ? "" : ` to ${ellipsize(value, MAX_VALUE_CHARS)}`}`
      return name === "PATH"
        ? `${set}, so that the names of programs may stand for other files than usual`
        : `${set}, with which programs may execute other code than usual`
    }),
    ...Array.from(
      sourced ?? [],
      (file) =>
        `an earlier command of this session sourced ${file}, so that the names of programs may stand for something else`,
    ),
  ]
}

const MAX_VALUE_CHARS = 200

/** The home and the settings directory name the settings of programs, and those name other programs. */
const SETTINGS = /^(?:PATH|HOME|XDG_\w+|(?:NPM|npm)_(?:CONFIG|config)_\w+)$/u

function changesPrograms(name: string, value: string | undefined): boolean {
  return SETTINGS.test(name) || isCodeVariable(name, value)
}

export interface ProgramFacts {
  readonly state: ShellState
  /** The directories of the user's PATH, in its order. */
  readonly programDirectories: readonly string[]
  /** The directories that commands can write. */
  readonly writable: readonly string[]
  readonly hasFile: (path: string) => Promise<boolean>
}

/**
 * The commands of a line whose program is certainly the installed one: no other code runs with it, and it is not in a directory that commands can
 * write. Only they get write access to files that the sandbox protects.
 */
export async function installedPrograms(
  { commands, after }: UnderstoodCommand,
  facts: ProgramFacts,
): Promise<readonly SimpleCommand[]> {
  if (commands.some(setsPath) || after.variables.get("PATH") !== facts.state.variables.get("PATH")) return []
  const variables = [...facts.state.variables, ...after.variables].filter(([name]) => name !== "PATH")
  if (variables.some(([name, value]) => changesPrograms(name, value))) return []
  const directories = facts.state.variables.has("PATH")
    ? facts.state.variables.get("PATH")?.split(":")
    : facts.programDirectories
  if (directories === undefined) return []
  const areInstalled = await Promise.all(commands.map((command) => isInstalled(command, { ...facts, directories })))
  return commands.filter((_command, index) => areInstalled[index])
}

function setsPath({ argv, assignments }: SimpleCommand): boolean {
  return assignments.some(({ name }) => name === "PATH") || argv.some(({ text }) => /^PATH(?:\+?=|$)/u.test(text))
}

async function isInstalled(
  { argv, wrappers, assignments, directory }: SimpleCommand,
  { directories, writable, hasFile }: ProgramFacts & { readonly directories: readonly string[] },
): Promise<boolean> {
  if (assignments.some(({ name, value }) => changesPrograms(name, value.known ? value.text : undefined))) return false
  const isWritable = (path: string): boolean => !isAbsolute(path) || writable.some((root) => isWithin(path, root))
  const started = [...wrappers.slice(0, 1).map(({ program }) => program), ...argv.slice(0, 1).map(({ text }) => text)]
  for (const name of started) {
    if (name.includes("/")) {
      if (isWritable(isAbsolute(name) ? name : join(directory ?? ".", name))) return false
      continue
    }
    for (const path of directories.filter(isWritable)) {
      if (!isAbsolute(path) || (await hasFile(join(path, name)))) return false
    }
  }
  return true
}
