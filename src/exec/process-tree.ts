import { readdirSync, readFileSync } from "node:fs"

/** A process, told apart from a later one that got the same number. */
export interface ProcessMark {
  readonly pid: number
  readonly startedAt: string
}

/**
 * The processes below one, also those that made a session of their own and so left its process group. Empty where the system has
 * no /proc: there the process group is all that can be reached.
 */
export function descendantsOf(pid: number): readonly ProcessMark[] {
  const children = Map.groupBy(allProcesses(), ({ parent }) => parent)
  const found: ProcessMark[] = []
  const open = [pid]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const child of children.get(next) ?? []) {
      found.push({ pid: child.pid, startedAt: child.startedAt })
      open.push(child.pid)
    }
  }
  return found
}

export function isSameProcess(mark: ProcessMark): boolean {
  return readProcess(mark.pid)?.startedAt === mark.startedAt
}

interface ProcessFacts extends ProcessMark {
  readonly parent: number
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
  return { pid, parent: Number(fields[1]), startedAt: fields[19] ?? "" }
}
