import type { ProcessInput } from "./process-input.ts"
import type { ShellState, SimpleCommand, UnderstoodCommand } from "../../policy/shell/understood-command.ts"

/**
 * What the commands of a session left behind in their shell, as far as their text says: a later command may call a function, an alias
 * or a variable that an earlier one defined.
 */
export interface ShellMemory {
  /** The state for the next command. The directory is the real one of the workspace. */
  before(current: string | undefined): ShellState
  /** `kept`: the shell has kept what the command left. Otherwise it may be in the state before it, or somewhere in between. */
  ran(understood: UnderstoodCommand, how: "kept" | "unknown"): void
  /** Takes over the files, links and remotes that a command changed in a shell of its own, such as one in the background. */
  ranElsewhere(after: ShellState): void
  /** The memory of a sub-agent: it has a shell of its own, but the same files. */
  child(): ShellMemory
  /** The directory after the last command, as far as its text says. */
  readonly directory: string | undefined
  /** What was sent to each background process. */
  readonly inputs: Map<string, ProcessInput>
}

export function createShellMemory(directory?: string): ShellMemory {
  return memoryWith(directory, { files: new Map(), links: new Map(), copies: new Map(), remotes: new Set() })
}

/** What commands changed on the disk, for all shells. */
interface ChangedFiles {
  readonly files: Map<string, string | undefined>
  readonly links: Map<string, string>
  readonly copies: Map<string, string>
  readonly remotes: Set<string>
}

function memoryWith(directory: string | undefined, changed: ChangedFiles): ShellMemory {
  let state: ShellState = { directory, variables: new Map(), functions: new Map(), aliases: new Map() }
  return {
    inputs: new Map(),
    before: (current) => ({ ...state, ...changed, directory: current }),
    ran: ({ commands, after }, how) => {
      const isKept = how === "kept" && !commands.some(mayEndTheShell)
      state = isKept ? after : eitherState(state, after)
      addChanges(changed, after, isKept)
    },
    ranElsewhere: (after) => {
      addChanges(changed, after, false)
    },
    child: () => memoryWith(undefined, changed),
    get directory() {
      return state.directory
    },
  }
}

/** A text that may not have been written, or that another shell wrote at the same time, is not known where an earlier one differs. */
function addChanges(changed: ChangedFiles, { files, links, copies, remotes }: ShellState, isCertain: boolean): void {
  for (const [path, text] of files ?? []) {
    const differs = changed.files.has(path) && changed.files.get(path) !== text
    changed.files.set(path, differs && !isCertain ? undefined : text)
  }
  for (const [path, target] of links ?? []) changed.links.set(path, target)
  for (const [path, program] of copies ?? []) changed.copies.set(path, program)
  for (const name of remotes ?? []) changed.remotes.add(name)
}

/** After one of these, the rest of the line may not have run. */
const MAY_END_THE_SHELL: ReadonlySet<string> = new Set(["exit", "exec", "return", "kill", "set", "trap", "logout"])

/** `shopt -o errexit` is `set -e`; the other options of `shopt` end nothing. */
function mayEndTheShell({ program = "", argv }: SimpleCommand): boolean {
  if (program === "shopt") return argv.some(({ known, text }) => !known || /^-[a-z]*o/u.test(text))
  return MAY_END_THE_SHELL.has(program)
}

/** What is true in both states; the rest is not known. */
function eitherState(first: ShellState, second: ShellState): ShellState {
  const sourced = new Set([...(first.sourced ?? []), ...(second.sourced ?? [])])
  return {
    ...(sourced.size === 0 ? {} : { sourced }),
    directory: first.directory === second.directory ? first.directory : undefined,
    variables: eitherMap(first.variables, second.variables),
    functions: eitherMap(first.functions, second.functions),
    aliases: eitherMap(first.aliases, second.aliases),
  }
}

type Definitions = ReadonlyMap<string, string | undefined>

function eitherMap(first: Definitions, second: Definitions): Definitions {
  const names = new Set([...first.keys(), ...second.keys()])
  return new Map(
    Array.from(names, (name) => {
      const value = first.get(name)
      return [name, first.has(name) && second.has(name) && value === second.get(name) ? value : undefined]
    }),
  )
}
