import { readdirSync, readFileSync } from "node:fs"

/** A process, told apart from a later one that got the same number. */
export interface ProcessMark {
  readonly pid: number
  readonly startedAt: string
}

/** The variable that every command is given, with a value of its own: it finds what has left the command's process group. */
export const COMMAND_VARIABLE = "HERMES_COMMAND"

/** How long a process group has to leave after SIGTERM before it is killed. */
const TERMINATION_GRACE_MS = 1000

export interface TreeKiller {
  /** SIGTERM to everything below the process, SIGKILL to what is left after the grace. Once. */
  terminate(): void
  /** The process has ended; after `terminate` nothing of it may live on. */
  finish(): void
  /** SIGKILL to everything, without a grace. */
  kill(): void
}

/**
 * Ends a command with everything below it; `pid` leads a process group. `commandId` is the value of its variable. A command that never
 * started has no process: signalling none would mean our own group.
 */
export function createTreeKiller(pid: number | undefined, commandId: string): TreeKiller {
  if (pid === undefined) return { terminate: () => undefined, finish: () => undefined, kill: () => undefined }
  let strays: readonly ProcessMark[] | undefined
  let timer: NodeJS.Timeout | undefined
  const look = (): void => {
    const known = strays ?? []
    const found = strayProcesses(pid, commandId).filter((mark) => !known.some((other) => other.pid === mark.pid))
    strays = [...known, ...found]
  }
  const signalAll = (signal: NodeJS.Signals): void => {
    signalGroup(pid, signal)
    for (const stray of strays ?? []) if (isSameProcess(stray)) signalProcess(stray.pid, signal)
  }
  const kill = (): void => {
    clearTimeout(timer)
    look()
    signalAll("SIGKILL")
  }
  return {
    terminate: () => {
      if (strays !== undefined) return
      look()
      signalAll("SIGTERM")
      timer = setTimeout(kill, TERMINATION_GRACE_MS)
    },
    finish: () => {
      if (strays !== undefined) kill()
    },
    kill,
  }
}

export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  return signalProcess(-pid, signal)
}

/** When a process began, in clock ticks since the system started; "" where the system does not show it or the process is gone. */
export function startTokenOf(pid: number): string {
  return readProcess(pid)?.startedAt ?? ""
}

/** What a command that an earlier Hermes started carries in its variable; "" where that cannot be seen. */
export function commandIdOf(pid: number): string {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0")
    const found = variables.find((variable) => variable.startsWith(`${COMMAND_VARIABLE}=`))
    return found?.slice(COMMAND_VARIABLE.length + 1) ?? ""
  } catch {
    // It has ended, or belongs to somebody else.
    return ""
  }
}

/** A process that has ended but was not yet waited for by its parent is not the same any more: nothing of it runs. */
export function isSameProcess(mark: ProcessMark): boolean {
  const found = readProcess(mark.pid)
  return found !== undefined && found.startedAt === mark.startedAt && found.state !== "Z"
}

/**
 * Processes below one, and those that carry its variable although their parent has ended. Empty where the system has no /proc: there
 * the process group is all that can be reached.
 */
function strayProcesses(pid: number, commandId: string): readonly ProcessMark[] {
  const all = allProcesses()
  const children = Map.groupBy(all, ({ parent }) => parent)
  const found = new Map<number, ProcessMark>()
  const open = [pid]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const child of children.get(next) ?? []) {
      found.set(child.pid, child)
      open.push(child.pid)
    }
  }
  const variable = Buffer.from(`${COMMAND_VARIABLE}=${commandId}\0`)
  for (const one of all) if (!found.has(one.pid) && carries(one.pid, variable)) found.set(one.pid, one)
  found.delete(process.pid)
  return [...found.values()].map(({ pid: number, startedAt }) => ({ pid: number, startedAt }))
}

function carries(pid: number, variable: Buffer): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`).includes(variable)
  } catch {
    // It has ended, or belongs to somebody else.
    return false
  }
}

interface ProcessFacts extends ProcessMark {
  readonly parent: number
  /** One letter; `Z` for a process that has ended. */
  readonly state: string
}

function allProcesses(): readonly ProcessFacts[] {
  let names: readonly string[]
  try {
    names = readdirSync("/proc")
  } catch {
    // No /proc on this system.
    return []
  }
  return names.flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []))
}

/** From `/proc/<pid>/stat`; the program's name in parentheses may itself hold spaces and parentheses. */
function readProcess(pid: number): ProcessFacts | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1")
  } catch {
    // It has ended since the directory was read.
    return undefined
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return { pid, state: fields[0] ?? "", parent: Number(fields[1]), startedAt: fields[19] ?? "" }
}

function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    // It has ended already, or belongs to somebody else now: nothing is left to signal.
    return false
  }
}
