import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { arch, platform } from "node:os"
import { text } from "node:stream/consumers"
import type { Readable } from "node:stream"

import type { Command } from "./rounds.ts"

export interface ResourceUsage {
  readonly peakMb: number
  /** User and system time together. */
  readonly cpuMs: number
}

export type UsageMeter = (command: Command) => Promise<ResourceUsage>

/** The most exact meter this machine has: the kernel's own account at exit, else /proc while the process lives. */
export async function findUsageMeter(): Promise<UsageMeter | undefined> {
  const python = await findPython()
  if (python !== undefined) return (command) => accountAtExit(python, command)
  return platform() === "linux" ? accountWhileAlive : undefined
}

/** The real program, because a version manager's shim is a shell script that takes longer than what is measured. */
async function findPython(): Promise<string | undefined> {
  const child = spawn("python3", ["-c", "import sys; print(sys.executable)"], { stdio: ["ignore", "pipe", "ignore"] })
  try {
    const [path] = await Promise.all([text(child.stdout), once(child, "close")])
    return path.trim() === "" ? undefined : path.trim()
  } catch {
    // There is no Python: the other meter is used.
    return undefined
  }
}

// Node has no wait4. The peak that the kernel reports includes the moment before exec, when the child still shares Python's
// memory; that is about 10 MB and below any Node process.
const WAIT4 = `
import json, os, sys
os.set_inheritable(3, False)
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
os.write(3, json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss, usage.ru_utime + usage.ru_stime]).encode())
`

export async function accountAtExit(python: string, { argv, env, cwd }: Command): Promise<ResourceUsage> {
  const child = spawn(python, ["-I", "-S", "-c", WAIT4, ...argv], {
    env: { ...env },
    cwd,
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  })
  const [account, problem] = await Promise.all([
    text(child.stdio[3] as Readable),
    text(child.stdio[2] as Readable),
    once(child, "close"),
  ])
  const [code, peak, cpuSeconds] = JSON.parse(account === "" ? "[-1,0,0]" : account) as [number, number, number]
  if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}:\n${problem}`)
  const unit = platform() === "darwin" ? 1024 * 1024 : 1024
  return { peakMb: peak / unit, cpuMs: cpuSeconds * 1000 }
}

const POLL_MS = 1
/** The kernel counts in hundredths of a second here, whatever its own tick is. */
const CLOCK_TICK_MS = 10

/** The high-water mark only rises, so the last reading before the exit is at most one poll old. */
export async function accountWhileAlive({ argv, env, cwd }: Command): Promise<ResourceUsage> {
  const [program, ...args] = argv
  const child = spawn(program, args, { env: { ...env }, cwd, stdio: "ignore" })
  let usage: ResourceUsage = { peakMb: 0, cpuMs: 0 }
  const timer = setInterval(() => {
    usage = child.pid === undefined ? usage : (readProc(child.pid) ?? usage)
  }, POLL_MS)
  try {
    const [code] = (await once(child, "exit")) as [number | null]
    if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code} on ${platform()} ${arch()}`)
    return usage
  } finally {
    clearInterval(timer)
  }
}

function readProc(pid: number): ResourceUsage | undefined {
  try {
    const peakKb = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    if (peakKb === undefined) return undefined
    // After the name, which may hold spaces and brackets: state is field 3, so user and system time are the 12th and 13th here.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? []
    const ticks = Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
    return { peakMb: Number(peakKb) / 1024, cpuMs: ticks * CLOCK_TICK_MS }
  } catch {
    // The process ended between two readings; what was read before counts.
    return undefined
  }
}
