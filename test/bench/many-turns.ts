import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import { installedCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { Measurement, Row } from "./measurement.ts"
import { compared, median } from "./measurement.ts"
import type { UsageMeter } from "./resource-usage.ts"
import type { Command } from "./rounds.ts"
import { timeCommand } from "./rounds.ts"
import { shell } from "./tool-turns.ts"

const TURNS = 1000
const LONG_TURNS = 3000
const STRETCH = 100
const ROUNDS = 3
const RESULT_CHARS = 1500
const OPEN = { TERMINAL_SANDBOX: "off" }

/**
 * Thousands of tool turns in one conversation, each with a result of 1.5 KB. Every request contains all previous turns, so the floor,
 * which encodes the conversation anew each time, takes longer with every turn. Hermes should take about as long for the last turns as for
 * the first.
 */
export const manyTurns: Measurement = {
  name: "many-turns",
  slow: true,
  run: async ({ meter }) => {
    await using model = await startLeanModel()
    await using home = await temporaryHome({ config: settings(model.url) })
    const hermes = (env: Readonly<Record<string, string>>): Command => ({
      argv: [...installedCommand(), "-z", "Run it."],
      env: { ...home.env, ...env },
      cwd: home.workdir,
    })
    const bodyFile = join(home.workdir, "first-request.json")
    model.start(1)
    await timeCommand(hermes(OPEN))
    await writeFile(bodyFile, model.firstBody())
    const floorProgram = fileURLToPath(new URL("./floor/tool-turns.mjs", import.meta.url))
    const floor: Command = { ...hermes(OPEN), argv: [process.execPath, floorProgram, model.url, bodyFile, shell()] }
    const found: Record<Side, Stretches[]> = { open: [], sandboxed: [], floor: [] }
    for (let round = 0; round < ROUNDS; round += 1) {
      found.open.push(await stretchesOf(hermes(OPEN), model, TURNS))
      found.floor.push(await stretchesOf(floor, model, TURNS))
      found.sandboxed.push(await stretchesOf(hermes({}), model, TURNS))
    }
    return [
      ...rowsOf(found),
      growthRow("", await stretchesOf(hermes(OPEN), model, LONG_TURNS)),
      growthRow(", sandboxed", await stretchesOf(hermes({}), model, LONG_TURNS)),
      ...(meter === undefined ? [] : [await memoryRow(hermes(OPEN), model, meter)]),
    ]
  },
}

type Side = "open" | "sandboxed" | "floor"

interface Stretches {
  readonly wallMs: number
  readonly firstMs: number
  readonly lastMs: number
}

/** Measures the median duration of the first and of the last hundred turns. */
async function stretchesOf(command: Command, model: LeanModel, count: number): Promise<Stretches> {
  model.start(count)
  const { wallMs } = await timeCommand(command)
  const times = model.times()
  if (times.length !== count + 1) throw new Error(`expected ${count + 1} requests, received ${times.length}`)
  const turns = times.slice(1).map((time, index) => time - (times[index] ?? 0))
  return { wallMs, firstMs: median(turns.slice(0, STRETCH)), lastMs: median(turns.slice(-STRETCH)) }
}

function rowsOf(found: Readonly<Record<Side, readonly Stretches[]>>): readonly Row[] {
  const of = (side: Exclude<Side, "floor">, measure: (run: Stretches) => number) => ({
    ours: found[side].map(measure),
    floor: found.floor.map(measure),
  })
  const beyondFloor = (side: Exclude<Side, "floor">, name: string, atMost: number): Row => {
    const { ours, floor } = of(side, ({ firstMs }) => firstMs)
    return { name, unit: "ms", ours: median(ours) - median(floor), target: { atMost } }
  }
  return [
    compared("1,000 tool turns, wall", "ms", { ...of("open", ({ wallMs }) => wallMs), target: { ratio: 1 } }),
    compared(
      "one of the first 100 turns",
      "ms",
      of("open", ({ firstMs }) => firstMs),
    ),
    compared(
      "one of the last 100 of 1,000 turns",
      "ms",
      of("open", ({ lastMs }) => lastMs),
    ),
    beyondFloor("open", "one of the first 100 turns beyond the floor", 4),
    beyondFloor("sandboxed", "one of the first 100 turns beyond the floor, sandboxed", 6),
  ]
}

function growthRow(suffix: string, { firstMs, lastMs }: Stretches): Row {
  return {
    name: `last 100 turns over first 100 of 3,000${suffix}`,
    unit: "share",
    ours: lastMs / firstMs,
    target: { atMost: 1.5 },
  }
}

async function memoryRow(command: Command, model: LeanModel, meter: UsageMeter): Promise<Row> {
  model.start(TURNS)
  const { peakMb } = await meter(command)
  return { name: "peak memory at 1,000 turns", unit: "MB", ours: peakMb, target: { atMost: 120 } }
}

interface LeanModel extends AsyncDisposable {
  /** Ends in `/v1`. */
  readonly url: string
  /** Starts a conversation of so many tool calls and a final reply. */
  start(calls: number): void
  /** The arrival time of each request, in milliseconds. */
  times(): readonly number[]
  firstBody(): string
}

/** The scripted server would record gigabytes of requests here. This one only counts them. */
async function startLeanModel(): Promise<LeanModel> {
  let calls = 0
  let first = ""
  let times: number[] = []
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on("data", (chunk: Buffer) => {
      if (times.length === 0) chunks.push(chunk)
    })
    incoming.on("end", () => {
      if (times.length === 0) first = Buffer.concat(chunks).toString("utf8")
      times.push(performance.now())
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.end(times.length <= calls ? callFrames(times.length) : REPLY_FRAMES)
    })
  })
  const listening = Promise.withResolvers<void>()
  server.listen(0, "127.0.0.1", () => listening.resolve())
  await listening.promise
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    start: (count) => {
      calls = count
      times = []
    },
    times: () => times,
    firstBody: () => first,
    [Symbol.asyncDispose]: async () => {
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      server.closeAllConnections()
      await closed.promise
    },
  }
}

function frames(...deltas: readonly object[]): string {
  const chunk = (choice: object) =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "scripted", choices: [choice] })}\n\n`
  const last = "tool_calls" in (deltas.at(-1) ?? {}) ? "tool_calls" : "stop"
  return [
    ...deltas.map((delta) => chunk({ index: 0, delta, finish_reason: null })),
    chunk({ index: 0, delta: {}, finish_reason: last }),
    "data: [DONE]\n\n",
  ].join("")
}

function callFrames(serial: number): string {
  const call = {
    id: `call_${serial}`,
    type: "function",
    function: { name: "terminal", arguments: JSON.stringify({ command: `printf '%0${RESULT_CHARS}d' ${serial}` }) },
  }
  return frames({ role: "assistant", content: null }, { tool_calls: [{ index: 0, ...call }] })
}

const REPLY_FRAMES = frames({ role: "assistant", content: "" }, { content: "Done." })

/** The window is large enough for all turns without compression. */
function settings(url: string): string {
  return `model:\n  provider: custom\n  default: scripted\n  base_url: ${url}\n  context_length: 100000000\nagent:\n  max_turns: ${LONG_TURNS + 10}\n`
}
