import { mkdir, writeFile } from "node:fs/promises"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { setTimeout as pause } from "node:timers/promises"

import * as pty from "@lydell/node-pty"

import { systemClock } from "../../src/base/clock.ts"
import { toSessionId } from "../../src/protocol/identifiers.ts"
import { openSqliteStore } from "../../src/state/sqlite/open-store.ts"
import { recordingLogger } from "../fixtures/state/temporary-store.ts"
import { installedCommand, startProcess } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import type { Measurement, Row } from "./measurement.ts"
import { compared, median } from "./measurement.ts"
import { runAlternately } from "./rounds.ts"

const DELTAS = 4000
const PER_SECOND = 500
const TRANSCRIPT_LINES = 100_000
const LINES_PER_MESSAGE = 100
const KEYS = 40
/** A character that neither the reply nor the UI contains. */
const TYPED = "Ω"
const COLUMNS = 100
const ROWS = 30

/**
 * The full UI in a pseudo-terminal: the time to its first paint, what a streamed reply costs, and how quickly a key is echoed meanwhile. With
 * `BENCH_PI=/path/to/pi` the same is measured for pi.
 */
export const terminalUi: Measurement = {
  name: "terminal-ui",
  slow: true,
  run: async ({ rounds }) => {
    await using model = await startPacedModel()
    await using home = await temporaryHome({ config: configFor(model.url), env: { HERMES_TUI: "1" } })
    const { BENCH_PI: pi } = process.env
    const rivals = pi === undefined ? [] : [await piProgram(pi, model.url, home)]
    const hermes: Program = { name: "", argv: installedCommand(), env: home.env, ready: "❯" }
    const paint = await runAlternately(rounds.startUp, {
      ours: () => firstPaint(hermes, home),
      floor: () =>
        firstPaint({ name: "floor", argv: [process.execPath, PAINT_FLOOR], env: home.env, ready: "❯" }, home),
    })
    const rows: Row[] = [compared("terminal UI, first paint", "ms", { ...paint, target: { ratio: 2 } })]
    for (const rival of rivals)
      rows.push({ name: `terminal UI, first paint${rival.name}`, unit: "ms", ours: await firstPaint(rival, home) })
    const resumed = await storeTranscript(home)
    const long = { ...hermes, argv: [...hermes.argv, "--resume", resumed] as const }
    for (const [program, targets] of [[long, true] as const, ...rivals.map((rival) => [rival, false] as const)]) {
      const found = await stream(program, home)
      rows.push(
        ...[
          {
            name: "bytes for each streamed character",
            unit: "count" as const,
            ours: found.bytesPerCharacter,
            limit: 6,
          },
          { name: "key echo during a stream, median", unit: "ms" as const, ours: median(found.echoes), limit: 16 },
          { name: "key echo during a stream, worst", unit: "ms" as const, ours: Math.max(...found.echoes) },
          { name: "full clears", unit: "count" as const, ours: found.clears, limit: 0 },
          { name: "CPU while idle, share of a core", unit: "share" as const, ours: found.idleShare, limit: 0.005 },
          { name: "peak memory", unit: "MB" as const, ours: found.peakMb, limit: 120 },
        ].map(({ name, unit, ours, limit }): Row => ({
          name: `terminal UI, ${name}${program.name}`,
          unit,
          ours,
          ...(targets && limit !== undefined ? { target: { atMost: limit } } : {}),
        })),
      )
    }
    return rows
  },
}

interface Program {
  /** Follows the name of a row; empty for Hermes. */
  readonly name: string
  readonly argv: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string>>
  /** Shown when the program accepts input. */
  readonly ready: string
}

interface StreamFigures {
  readonly bytesPerCharacter: number
  readonly echoes: readonly number[]
  readonly clears: number
  readonly idleShare: number
  readonly peakMb: number
}

const PAINT_FLOOR = fileURLToPath(new URL("./floor/paint-one-line.mjs", import.meta.url))

/** Starts a program in a pseudo-terminal. `output` is everything it has written. */
function open({ argv: [command, ...args], env }: Program, home: TemporaryHome) {
  const child = pty.spawn(command, args, {
    name: "xterm-256color",
    cols: COLUMNS,
    rows: ROWS,
    cwd: home.workdir,
    env: { ...env, TERM: "xterm-256color", COLORTERM: "truecolor" },
  })
  const state = { output: "", exited: false }
  const watchers = new Set<() => void>()
  child.onData((data) => {
    state.output += data
    for (const watcher of watchers) watcher()
  })
  child.onExit(() => {
    state.exited = true
  })
  const shows = async (isShown: (output: string) => boolean, limitMs = 60_000): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const timer = setTimeout(
      () => reject(new Error(`the program did not show what was expected:\n${state.output.slice(-2000)}`)),
      limitMs,
    )
    const check = (): void => {
      if (isShown(state.output)) resolve(performance.now())
    }
    watchers.add(check)
    check()
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      watchers.delete(check)
    }
  }
  const exited = async (limitMs: number): Promise<void> => {
    for (let waited = 0; !state.exited && waited < limitMs; waited += 20) await pause(20)
  }
  return { child, state, shows, exited, close: () => (state.exited ? undefined : child.kill("SIGKILL")) }
}

async function firstPaint(program: Program, home: TemporaryHome): Promise<number> {
  const started = performance.now()
  const terminal = open(program, home)
  try {
    const painted = (await terminal.shows((output) => output.includes(program.ready))) - started
    // A program that is killed cannot keep its compiled code for the next start.
    await pause(READY_MS)
    terminal.child.write(CTRL_D)
    await terminal.exited(EXIT_MS)
    return painted
  } finally {
    terminal.close()
  }
}

const CTRL_D = "\u0004"
const READY_MS = 700
const EXIT_MS = 3000

/** Sends a message, and types during the reply. */
async function stream(program: Program, home: TemporaryHome): Promise<StreamFigures> {
  const terminal = open(program, home)
  try {
    await terminal.shows((output) => output.includes(program.ready))
    await pause(6000)
    const idle = cpuTicks(terminal.child.pid)
    await pause(2000)
    const idleShare = (cpuTicks(terminal.child.pid) - idle) / TICKS_PER_SECOND / 2
    terminal.child.write("Tell a story.\r")
    await terminal.shows((output) => output.includes("amber"))
    const from = terminal.state.output.length
    const echoes: number[] = []
    for (let key = 0; key < KEYS; key += 1) {
      const before = terminal.state.output.length
      const pressed = performance.now()
      terminal.child.write(TYPED)
      echoes.push((await terminal.shows((output) => output.includes(TYPED, before))) - pressed)
      await pause(40)
    }
    const typedFrom = terminal.state.output.length
    await pause((DELTAS / PER_SECOND) * 1000 - KEYS * 50 + 1500)
    const written = Buffer.byteLength(terminal.state.output.slice(typedFrom))
    const share = 1 - (typedFrom - from) / Math.max(1, terminal.state.output.length - from)
    return {
      bytesPerCharacter: written / (replyCharacters() * share),
      echoes,
      // eslint-disable-next-line no-control-regex -- these are the sequences that are looked for
      clears: terminal.state.output.match(/\u{1B}\[[23]J|\u{1B}c|\u{1B}\[\?1049h/gu)?.length ?? 0,
      idleShare,
      peakMb: peakMb(terminal.child.pid),
    }
  } finally {
    terminal.close()
  }
}

function replyCharacters(): number {
  return DELTAS * 6.2
}

const TICKS_PER_SECOND = 100

function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return Number(fields[11]) + Number(fields[12])
}

function peakMb(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/u.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0) / 1024
}

/** Stores a conversation of many lines and returns its id. */
async function storeTranscript(home: TemporaryHome): Promise<string> {
  const id = toSessionId("20261116_000000_abcdef")
  const store = await openSqliteStore({ path: join(home.path, "state.db"), clock: systemClock, log: recordingLogger() })
  try {
    await store.createSession({ id, source: "cli", startedAt: 1_800_000_000 })
    const text = Array.from({ length: LINES_PER_MESSAGE }, (_, line) => `line ${line}: what was said before`).join("\n")
    for (let lines = 0; lines < TRANSCRIPT_LINES; lines += 2 * LINES_PER_MESSAGE) {
      await store.append(id, [
        { role: "user", content: text },
        { role: "assistant", content: text },
      ])
    }
    await store.endSession(id, "user_exit")
  } finally {
    await store.close()
  }
  return id
}

async function startPacedModel() {
  const server = startProcess({
    command: [process.execPath, fileURLToPath(new URL("./paced-model.mjs", import.meta.url))],
    args: [String(DELTAS), String(PER_SECOND)],
    env: { PATH: process.env["PATH"] ?? "" },
  })
  await server.waitForOutput("\n")
  const { url } = JSON.parse(server.stdout) as { url: string }
  return { url: `${url}/v1`, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

function configFor(url: string): string {
  return `model:\n  provider: custom\n  default: scripted\n  base_url: ${url}\n  context_length: 20000000\nauxiliary:\n  title_generation:\n    provider: none\n`
}

async function piProgram(command: string, url: string, home: TemporaryHome): Promise<Program> {
  const directory = join(home.userHome, ".pi/agent")
  await mkdir(directory, { recursive: true })
  const models = {
    providers: { bench: { baseUrl: url, api: "openai-completions", apiKey: "none", models: [{ id: "scripted" }] } },
  }
  await writeFile(join(directory, "models.json"), JSON.stringify(models))
  return {
    name: ", pi",
    argv: [command, "--provider", "bench", "--model", "scripted"],
    env: { ...home.env, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_TELEMETRY: "0" },
    ready: "scripted",
  }
}
