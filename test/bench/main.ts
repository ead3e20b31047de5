/** `node test/bench/main.ts [--quick] [--only NAME]… [--check]`: compares Hermes with a minimal program for the same work. */
import { existsSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { cpus, loadavg, platform, release } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"

import { hermesCommand } from "../support/process-driver.ts"
import { checkpoints } from "./checkpoints.ts"
import { commands } from "./commands.ts"
import { firstCommand } from "./first-command.ts"
import { firstRequest } from "./first-request.ts"
import { mcpServers } from "./mcp-servers.ts"
import { learningHints } from "./learning-hints.ts"
import { longConversation } from "./long-conversation.ts"
import { longStream } from "./long-stream.ts"
import { longTask } from "./long-task.ts"
import { manySessions } from "./many-sessions.ts"
import { manyTurns } from "./many-turns.ts"
import { memoryConversations } from "./memory-retrieval-conversations.ts"
import { memoryRetrieval } from "./memory-retrieval.ts"
import type { Measurement, Plan, Row } from "./measurement.ts"
import { oneShot } from "./one-shot.ts"
import { permissions } from "./permissions.ts"
import { prefixLaw } from "./prefix-law.ts"
import { meetsTarget, renderTable, rowResult } from "./report.ts"
import { searchBench } from "./search-files.ts"
import { requests } from "./requests.ts"
import { findUsageMeter } from "./resource-usage.ts"
import { scriptCalls } from "./script-calls.ts"
import { sessionStore } from "./session-store.ts"
import { startUp } from "./start-up.ts"
import { terminalUi } from "./terminal-ui.ts"
import { toolTurns } from "./tool-turns.ts"

const MEASUREMENTS: readonly Measurement[] = [
  startUp,
  oneShot,
  toolTurns,
  commands,
  firstCommand,
  manyTurns,
  manySessions,
  longStream,
  requests,
  prefixLaw,
  firstRequest,
  mcpServers,
  scriptCalls,
  longTask,
  longConversation,
  sessionStore,
  memoryRetrieval,
  memoryConversations,
  learningHints,
  searchBench,
  checkpoints,
  permissions,
  terminalUi,
]
const RESULTS = join(import.meta.dirname, "results")

/** Returns the exit code: 1 when a measurement failed or, with `--check`, when a target was missed. */
async function bench(args: readonly string[]): Promise<number> {
  const options = readArguments(args)
  if (typeof options === "string") return fail(options)
  const [, built] = hermesCommand()
  if (!existsSync(built)) return fail(`${built} does not exist. Run npm run build first.`)

  const machine = describeMachine()
  console.log(`Node ${machine.node}, ${machine.cores} × ${machine.cpu}, load ${machine.load}\n`)
  const { rows, failed } = await measure(options.chosen, {
    rounds: options.quick ? { startUp: 5, oneShot: 3 } : { startUp: 15, oneShot: 9 },
    meter: await findUsageMeter(),
  })
  console.log(`\n${renderTable(rows)}\n\nload afterwards ${currentLoad()}`)
  // An incomplete run must not replace complete results.
  if (options.complete && failed === 0) console.log(`\nWritten to ${await writeResults(machine, rows)}`)
  const missed = rows.filter((row) => meetsTarget(row) === false)
  if (missed.length > 0) console.log(`\nMissed: ${missed.map((row) => row.name).join("; ")}.`)
  return failed > 0 || (options.check && missed.length > 0) ? 1 : 0
}

interface BenchOptions {
  readonly chosen: readonly Measurement[]
  readonly complete: boolean
  readonly quick: boolean
  readonly check: boolean
}

function readArguments(args: readonly string[]): BenchOptions | string {
  const flags = readFlags(args)
  if (typeof flags === "string") return flags
  const { quick, check, only } = flags
  const names = MEASUREMENTS.map((measurement) => measurement.name)
  const unknown = only.find((name) => !names.includes(name))
  if (unknown !== undefined) return `Unknown measurement "${unknown}". Known: ${names.join(", ")}.`
  const chosen = MEASUREMENTS.filter(({ name, slow }) =>
    only.length > 0 ? only.includes(name) : !(quick && slow === true),
  )
  return { chosen, complete: only.length === 0 && !quick, quick, check }
}

function readFlags(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: "boolean", default: false },
        check: { type: "boolean", default: false },
        only: { type: "string", multiple: true, default: [] },
      },
    }).values
  } catch (error) {
    return `${error instanceof Error ? error.message : error}. Known: --quick, --only NAME, --check.`
  }
}

/** Reports a measurement that fails and continues with the others. */
async function measure(
  chosen: readonly Measurement[],
  plan: Plan,
): Promise<{ readonly rows: readonly Row[]; readonly failed: number }> {
  const rows: Row[] = []
  let failed = 0
  if (plan.meter === undefined)
    console.log("Neither python3 nor /proc is available: memory and CPU time are not measured.")
  for (const measurement of chosen) {
    const started = performance.now()
    try {
      rows.push(...(await measurement.run(plan)))
      console.log(`${measurement.name}: measured in ${((performance.now() - started) / 1000).toFixed(0)} s`)
    } catch (error) {
      failed += 1
      console.error(`${measurement.name}: could not be measured. ${error instanceof Error ? error.message : error}`)
    }
  }
  return { rows, failed }
}

interface Machine {
  readonly node: string
  readonly system: string
  readonly cpu: string
  readonly cores: number
  /** The load average of the last minute. When it is near the number of cores, the results are not reliable. */
  readonly load: string
}

function describeMachine(): Machine {
  const found = cpus()
  return {
    node: process.versions.node,
    system: `${platform()} ${release()}`,
    cpu: found[0]?.model.trim() ?? "unknown CPU",
    cores: found.length,
    load: currentLoad(),
  }
}

function currentLoad(): string {
  return (loadavg()[0] ?? 0).toFixed(2)
}

async function writeResults(machine: Machine, rows: readonly Row[]): Promise<string> {
  const at = new Date().toISOString()
  const text = `${JSON.stringify({ at, machine, loadAfter: currentLoad(), rows: rows.map(rowResult) }, undefined, 2)}\n`
  const latest = join(RESULTS, "latest.json")
  await mkdir(RESULTS, { recursive: true })
  await writeFile(latest, text)
  await writeFile(join(RESULTS, `${at.slice(0, 19).replaceAll(":", "-")}.json`), text)
  return latest
}

function fail(problem: string): number {
  console.error(problem)
  return 1
}

process.exitCode = await bench(process.argv.slice(2))
