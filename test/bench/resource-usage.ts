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

/** Returns the most precise meter of this machine: `wait4` at exit, or /proc while the process runs. */
export async function findUsageMeter(): Promise<UsageMeter | undefined> {
  const python = await findPython()
  if (python !== undefined) return (command) => measureAtExit(python, command)
  return platform() === "linux" ? measureWhileRunning : undefined
}

/** Resolves version manager shims: they are shell scripts and take longer than the measured program. */
async function findPython(): Promise<string | undefined> {
  const child = spawn("python3", ["-c", "import sys; print(sys.executable)"], { stdio: ["ignore", "pipe", "ignore"] })
  try {
    const [path] = await Promise.all([text(child.stdout), once(child, "close")])
    return path.trim() === "" ? undefined : path.trim()
  } catch {
    // Python is not installed, so the other meter is used.
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

async function measureAtExit(python: string, { argv, env, cwd }: Command): Promise<ResourceUsage> {
  const child = spawn(python, ["-I", "-S", "-c", WAIT4, ...argv], {
    env: { ...env },
    cwd,
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  })
  const [usage, stderr] = await Promise.all([
    text(child.stdio[3] as Readable),
    text(child.stdio[2] as Readable),
    once(child, "close"),
  ])
  const [code, peak, cpuSeconds] = JSON.parse(usage === "" ? "[-1,0,0]" : usage) as [number, number, number]
  if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}:\n${stderr}`)
  const unit = platform() === "darwin" ? 1024 * 1024 : 1024
  return { peakMb: peak / unit, cpuMs: cpuSeconds * 1000 }
}

const POLL_MS = 1
/** /proc reports CPU time in hundredths of a second, independent of the kernel's tick. */
const CLOCK_TICK_MS = 10

/** Polls /proc. The peak memory only rises, so the last reading before the exit is at most one interval old. */
export async function measureWhileRunning({ argv, env, cwd }: Command): Promise<ResourceUsage> {
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
    // Skips the name, which may contain spaces and brackets. The remaining fields start with field 3, so user and system time are at 11 and 12.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? []
    const ticks = Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
    return { peakMb: Number(peakKb) / 1024, cpuMs: ticks * CLOCK_TICK_MS }
  } catch {
    // The process has exited, so the previous reading counts.
    return undefined
  }
}
