import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { Measurement, Row } from "./measurement.ts"
import { compared, median } from "./measurement.ts"
import type { Command } from "./rounds.ts"
import { timeCommand } from "./rounds.ts"
import { shell } from "./tool-turns.ts"

const TURNS = 1000
const STRETCH = 100
const ROUNDS = 3

/**
 * A thousand tool turns in one conversation. Every request contains all previous turns, so later turns cost more in any
 * program. The result compares the increase with that of a minimal program for the same work.
 */
export const manyTurns: Measurement = {
  name: "many-turns",
  slow: true,
  run: async () => {
    await using model = await startLeanModel()
    await using home = await temporaryHome({ config: settings(model.url) })
    // The floor has no sandbox either.
    const context = { env: { ...home.env, TERMINAL_SANDBOX: "off" }, cwd: home.workdir }
    const hermes: Command = { argv: [...hermesCommand(), "-z", "Run true."], ...context }
    const bodyFile = join(home.workdir, "first-request.json")
    model.start(1)
    await timeCommand(hermes)
    await writeFile(bodyFile, model.firstBody())
    const floorProgram = fileURLToPath(new URL("./floor/tool-turns.mjs", import.meta.url))
    const floor: Command = { argv: [process.execPath, floorProgram, model.url, bodyFile, shell()], ...context }
    const found = { ours: [] as Stretches[], floor: [] as Stretches[] }
    for (let round = 0; round < ROUNDS; round += 1) {
      found.ours.push(await stretchesOf(hermes, model))
      found.floor.push(await stretchesOf(floor, model))
    }
    return rowsOf(found)
  },
}

interface Stretches {
  readonly wallMs: number
  readonly firstMs: number
  readonly lastMs: number
}

/** Measures the median duration of the first and of the last hundred turns. */
async function stretchesOf(command: Command, model: LeanModel): Promise<Stretches> {
  model.start(TURNS)
  const { wallMs } = await timeCommand(command)
  const times = model.times()
  if (times.length !== TURNS + 1) throw new Error(`expected ${TURNS + 1} requests, received ${times.length}`)
  const turns = times.slice(1).map((time, index) => time - (times[index] ?? 0))
  return { wallMs, firstMs: median(turns.slice(0, STRETCH)), lastMs: median(turns.slice(-STRETCH)) }
}

function rowsOf(found: { readonly ours: readonly Stretches[]; readonly floor: readonly Stretches[] }): readonly Row[] {
  const of = (measure: (run: Stretches) => number) => ({
    ours: found.ours.map(measure),
    floor: found.floor.map(measure),
  })
  const last = of(({ lastMs }) => lastMs)
  return [
    compared("1,000 tool turns, wall", "ms", { ...of(({ wallMs }) => wallMs), target: { ratio: 2.5 } }),
    compared(
      "one of the first 100 turns",
      "ms",
      of(({ firstMs }) => firstMs),
    ),
    compared("one of the last 100 turns", "ms", last),
    {
      name: "one of the last 100 turns beyond the floor",
      unit: "ms",
      ours: median(last.ours) - median(last.floor),
      target: { atMost: 10 },
    },
  ]
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
    function: { name: "terminal", arguments: '{"command":"true"}' },
  }
  return frames({ role: "assistant", content: null }, { tool_calls: [{ index: 0, ...call }] })
}

const REPLY_FRAMES = frames({ role: "assistant", content: "" }, { content: "Done." })

/** The window is large enough for a thousand turns without compression. */
function settings(url: string): string {
  return `model:\n  provider: custom\n  default: scripted\n  base_url: ${url}\n  context_length: 2000000\nagent:\n  max_turns: ${TURNS + 10}\n`
}
