/**
 * `node many-sessions-app.ts COUNT CONCURRENT`: opens sessions in one process, as a gateway does, runs one prompt in each and keeps all of
 * them open to the end. Prints the result as JSON. Home and model server come from the environment.
 */
import { readdirSync, readFileSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"

import { startApp } from "../../src/app/start.ts"
import type { App } from "../../src/app/app.ts"
import type { Session } from "../../src/app/session/session.ts"
import { processEnvironment } from "../../src/config/environment.ts"
import { resolveHome } from "../../src/config/home.ts"

const MB = 1024 * 1024

/** What the sessions cost. The `early` values are from after the first tenth. */
export interface ManySessionsResult {
  readonly wallMs: number
  /** CPU time of this process without its children. */
  readonly cpuMs: number
  readonly longestStallMs: number
  readonly earlyRssMb: number
  readonly rssMb: number
  readonly descriptors: number
  readonly children: number
  readonly timers: number
}

async function main([count = "", concurrent = ""]: readonly string[]): Promise<void> {
  const environment = processEnvironment()
  const { app } = await startApp({ home: resolveHome(environment), environment, version: "0.0.0-bench" })
  // The first session loads the code, here even from TypeScript.
  const sessions: Session[] = [await runOne(app)]
  const started = performance.now()
  const cpu = process.cpuUsage()
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let earlyRssMb = 0
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < Number(count)) {
      next += 1
      sessions.push(await runOne(app))
      if (sessions.length === Math.ceil(Number(count) / 10)) earlyRssMb = process.memoryUsage.rss() / MB
    }
  }
  await Promise.all(Array.from({ length: Number(concurrent) }, worker))
  delay.disable()
  const result: ManySessionsResult = {
    wallMs: performance.now() - started,
    cpuMs: process.cpuUsage(cpu).user / 1000 + process.cpuUsage(cpu).system / 1000,
    longestStallMs: delay.max / 1e6,
    earlyRssMb,
    rssMb: process.memoryUsage.rss() / MB,
    descriptors: readdirSync("/proc/self/fd").length,
    children: childrenOf(process.pid),
    timers: process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length,
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
  await Promise.all(sessions.map((session) => session.close("bench_end")))
  await app.close()
}

async function runOne(app: App): Promise<Session> {
  const session = await openOne(app)
  const answer = await session.ask("Run the commands.", { signal: AbortSignal.timeout(600_000) })
  if (answer !== "Done.") throw new Error(`the answer was ${JSON.stringify(answer)}`)
  return session
}

async function openOne(app: App): Promise<Session> {
  const chosen = app.chooseModel({})
  if (!chosen.ok) throw new Error(chosen.error.message)
  const opened = await app.openSession({
    model: chosen.value,
    cwd: process.cwd(),
    origin: { surface: "cli", attended: () => false },
    permissionProfile: "default",
  })
  if (!opened.ok) throw new Error(opened.error)
  return opened.value
}

function childrenOf(pid: number): number {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && parentOf(name) === pid).length
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
  } catch {
    // It has exited.
    return undefined
  }
}

await main(process.argv.slice(2))
