import { readdirSync, readFileSync } from "node:fs"

import { randomHex } from "../base/random-and-hash.ts"

/** Identifies a process across reuse of its process id. */
export interface ProcessIdentity {
  readonly pid: number
  readonly startedAt: string
}

/** Environment variable with a unique value per command. It finds processes that have left the command's process group. */
export const COMMAND_VARIABLE = "HERMES_COMMAND"

/** A value of `COMMAND_VARIABLE` for a command that must end with this process: the guard of the terminal finds it by the process id. */
export function newCommandId(): string {
  return `${process.pid}.${randomHex(8)}`
}

/** For a background command, which the next Hermes process takes over. */
export function lastingCommandId(): string {
  return randomHex(8)
}

/** Environment variable of every command on this machine with the id of its session. */
const SESSION_VARIABLE = "HERMES_SESSION_ID"

/** How long a process group may take to exit after SIGTERM before it is killed. */
const TERMINATION_GRACE_MS = 1000

export interface TreeKiller {
  /** Sends SIGTERM to the whole tree, and SIGKILL to what remains after the grace period. Later calls do nothing. */
  terminate(): void
  /** Call it when the process itself has exited. After `terminate`, it kills what remains of the tree at once. */
  finish(): void
  /** Sends SIGKILL to the whole tree. */
  kill(): void
}

/**
 * Kills a command and everything it started. `pid` leads a process group; `commandId` is the value of its `COMMAND_VARIABLE`. Without a
 * pid (the command never started) it does nothing: signalling group 0 would hit our own group.
 */
export function createTreeKiller(
  pid: number | undefined,
  commandId: string,
  { graceMs = TERMINATION_GRACE_MS }: { readonly graceMs?: number } = {},
): TreeKiller {
  if (pid === undefined) return { terminate: () => undefined, finish: () => undefined, kill: () => undefined }
  let strays: readonly ProcessIdentity[] | undefined
  let timer: NodeJS.Timeout | undefined
  const findStrays = (): void => {
    const known = strays ?? []
    const found = strayProcesses(pid, commandId).filter((stray) => !known.some((other) => other.pid === stray.pid))
    strays = [...known, ...found]
  }
  const signalAll = (signal: NodeJS.Signals): void => {
    signalGroup(pid, signal)
    for (const stray of strays ?? []) if (isSameProcess(stray)) signalProcess(stray.pid, signal)
  }
  const kill = (): void => {
    clearTimeout(timer)
    findStrays()
    signalAll("SIGKILL")
  }
  return {
    terminate: () => {
      if (strays !== undefined) return
      findStrays()
      signalAll("SIGTERM")
      timer = setTimeout(kill, graceMs)
    },
    finish: () => {
      if (strays !== undefined) kill()
    },
    kill,
  }
}

/**
 * Kills what the commands of a session still run, after the Hermes process that started them was killed. Finds them by the session id in
 * their environment; returns how many there were. Does nothing on a system without /proc.
 */
export function killCommandsOfSession(sessionId: string): number {
  const variable = Buffer.from(`${SESSION_VARIABLE}=${sessionId}\0`)
  const own = readProcess(process.pid)?.group
  const found = allProcesses().filter(({ pid }) => pid !== process.pid && hasVariable(pid, variable))
  // The shell that leads the group would go on with its next command.
  for (const group of new Set(found.map((one) => one.group)))
    if (group > 1 && group !== own) signalGroup(group, "SIGKILL")
  for (const one of found) if (isSameProcess(one)) signalProcess(one.pid, "SIGKILL")
  return found.length
}

export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  return signalProcess(-pid, signal)
}

/** Start time of a process in clock ticks since boot; "" when the process is gone or the system has no /proc. */
export function startTokenOf(pid: number): string {
  return readProcess(pid)?.startedAt ?? ""
}

/** Reads the `COMMAND_VARIABLE` of a process that an earlier Hermes started; "" when its environment cannot be read. */
export function commandIdOf(pid: number): string {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0")
    const found = variables.find((variable) => variable.startsWith(`${COMMAND_VARIABLE}=`))
    return found?.slice(COMMAND_VARIABLE.length + 1) ?? ""
  } catch {
    // It has exited, or belongs to another user.
    return ""
  }
}

/** Whether the process still runs. A zombie does not count. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  const found = readProcess(identity.pid)
  return found !== undefined && found.startedAt === identity.startedAt && found.state !== "Z"
}

/**
 * Returns the descendants of a process and the orphans that carry its variable. Empty on a system without /proc, where only the process
 * group can be signalled.
 */
function strayProcesses(pid: number, commandId: string): readonly ProcessIdentity[] {
  const all = allProcesses()
  const children = Map.groupBy(all, ({ parent }) => parent)
  const found = new Map<number, ProcessIdentity>()
  const queue = [pid]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const child of children.get(next) ?? []) {
      found.set(child.pid, child)
      queue.push(child.pid)
    }
  }
  const variable = Buffer.from(`${COMMAND_VARIABLE}=${commandId}\0`)
  for (const one of all) if (!found.has(one.pid) && hasVariable(one.pid, variable)) found.set(one.pid, one)
  found.delete(process.pid)
  return [...found.values()].map(({ pid: id, startedAt }) => ({ pid: id, startedAt }))
}

function hasVariable(pid: number, variable: Buffer): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`).includes(variable)
  } catch {
    // It has exited, or belongs to another user.
    return false
  }
}

interface ProcessFacts extends ProcessIdentity {
  readonly parent: number
  readonly group: number
  /** One letter; `Z` for a zombie. */
  readonly state: string
}

function allProcesses(): readonly ProcessFacts[] {
  let names: readonly string[]
  try {
    names = readdirSync("/proc")
  } catch {
    // This system has no /proc.
    return []
  }
  return names.flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []))
}

/** Parses `/proc/<pid>/stat`. The program name in parentheses may itself contain spaces and parentheses. */
function readProcess(pid: number): ProcessFacts | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1")
  } catch {
    // It has exited since the directory was read.
    return undefined
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return {
    pid,
    state: fields[0] ?? "",
    parent: Number(fields[1]),
    group: Number(fields[2]),
    startedAt: fields[19] ?? "",
  }
}

function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    // It has exited, or its id belongs to another user's process now.
    return false
  }
}
