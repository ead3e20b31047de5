import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs"

/** A process that a command started and that belongs to no command any more. */
export interface OrphanedProcess {
  readonly pid: number
  /** The beginning of its command line. */
  readonly command: string
}

export interface OrphanSearch {
  /** When commands ran, in milliseconds since 1970. */
  readonly ran: readonly { readonly fromMs: number; readonly toMs: number }[]
  /** Commands work in these directories. */
  readonly directories: readonly string[]
  /** Process groups that are ended with the session. */
  readonly groups: readonly number[]
  /** The ids of processes that are older than all commands. */
  readonly older: ReadonlySet<string>
}

/**
 * Finds processes that have left their command: they started while one ran, init has adopted them, they are in the control group of Hermes, and they have
 * the variables of Hermes or work in one of the directories. A process that removes all of these traces is not found. Empty on a system without /proc.
 */
export function findOrphans({ ran, directories, groups, older }: OrphanSearch): readonly OrphanedProcess[] {
  const own = readFacts("self")
  const controlGroup = textOf("/proc/self/cgroup")
  const user = process.getuid?.()
  if (own === undefined || ran.length === 0) return []
  return processIds().flatMap((pid) => {
    if (older.has(pid)) return []
    const facts = readFacts(pid)
    if (facts === undefined || facts.state === "Z" || groups.includes(facts.group)) return []
    // The cheapest test comes first: most processes are older.
    const startedMs = performance.timeOrigin + (facts.startedTicks - own.startedTicks) * TICK_MS
    if (!ran.some(({ fromMs, toMs }) => startedMs >= fromMs - SLACK_MS && startedMs <= toMs + SLACK_MS)) return []
    if (!isReaper(facts.parent) || userOf(pid) !== user) return []
    if (textOf(`/proc/${pid}/cgroup`) !== controlGroup) return []
    if (!textOf(`/proc/${pid}/environ`).includes("HERMES_COMMAND=") && !worksIn(pid, directories)) return []
    const command = textOf(`/proc/${pid}/cmdline`)
      .replaceAll("\0", " ")
      .replaceAll(/[^ -~]/gu, "?")
    return [{ pid: Number(pid), command: command.trim().slice(0, MAX_COMMAND_CHARS) }]
  })
}

/** Linux reports times to programs in hundredths of a second. */
const TICK_MS = 10
/** The start of Hermes itself is known less exactly. */
const SLACK_MS = 250
const MAX_COMMAND_CHARS = 120
/** Programs that adopt processes whose parent has exited. */
const REAPERS = /^(?:systemd|init|tini|dumb-init|docker-init|catatonit|podman-init)$/u

function isReaper(pid: number): boolean {
  return pid === 1 || REAPERS.test(textOf(`/proc/${pid}/comm`).trim())
}

function processIds(): readonly string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/u.test(name))
  } catch {
    // This system has no /proc.
    return []
  }
}

function userOf(pid: string): number | undefined {
  try {
    return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid
  } catch {
    // It has exited.
    return undefined
  }
}

/** Parses `/proc/<pid>/stat`. The program name in parentheses may itself contain spaces and parentheses. */
function readFacts(pid: string) {
  const stat = textOf(`/proc/${pid}/stat`)
  if (stat === "") return undefined
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return { state: fields[0], parent: Number(fields[1]), group: Number(fields[2]), startedTicks: Number(fields[19]) }
}

function worksIn(pid: string, directories: readonly string[]): boolean {
  try {
    const cwd = readlinkSync(`/proc/${pid}/cwd`)
    return directories.some((directory) => cwd === directory || cwd.startsWith(`${directory}/`))
  } catch {
    // It has exited.
    return false
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1")
  } catch {
    // It has exited, or belongs to another user.
    return ""
  }
}
