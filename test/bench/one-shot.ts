import type { Measurement, Plan, Row } from "./measurement.ts"
import { compared, median } from "./measurement.ts"
import type { Command } from "./rounds.ts"
import { runAlternately, timeCommand } from "./rounds.ts"
import type { ScriptedModel } from "./scripted-model.ts"
import { startScriptedModel } from "./scripted-model.ts"

const REPLY = "Hello. This is one short answer, streamed in several pieces."

/** One prompt and one streamed reply, in a home that has been used before. */
export const oneShot: Measurement = {
  name: "one-shot",
  run: async (plan) => {
    await using model = await startScriptedModel([{ text: REPLY }])
    const commands = {
      ours: model.hermes("-z", "Say hello."),
      floor: model.floor("one-shot"),
      lean: model.floor("one-shot", "lean"),
    }
    return [...(await timeRows(model, commands, plan)), ...(await memoryRow(commands, plan))]
  },
}

interface Commands {
  readonly ours: Command
  readonly floor: Command
  /** The floor without loading undici, which importing `node:http` does. */
  readonly lean: Command
}

async function timeRows(model: ScriptedModel, commands: Commands, { rounds }: Plan): Promise<readonly Row[]> {
  const once = async (command: Command) => {
    const run = await timeCommand(command)
    const [request, ...more] = await model.takeRequests()
    if (request === undefined || more.length > 0) throw new Error("expected exactly one request")
    if (run.stdout !== `${REPLY}\n`) throw new Error(`unexpected output: ${run.stdout}`)
    return { wallMs: run.wallMs, firstRequestMs: request.at - run.startedAt }
  }
  const found = await runAlternately(rounds.oneShot, {
    ours: () => once(commands.ours),
    floor: () => once(commands.floor),
    lean: () => once(commands.lean),
  })
  const of = (field: "wallMs" | "firstRequestMs", floor: "floor" | "lean" = "floor") => ({
    ours: found.ours.map((run) => run[field]),
    floor: found[floor].map((run) => run[field]),
  })
  return [
    compared("one-shot, wall", "ms", { ...of("wallMs"), target: { ratio: 2.5 } }),
    compared("one-shot, spawn to first request", "ms", { ...of("firstRequestMs"), target: { ratio: 2 } }),
    compared("one-shot, wall, leanest floor", "ms", of("wallMs", "lean")),
    compared("one-shot, spawn to first request, leanest floor", "ms", of("firstRequestMs", "lean")),
  ]
}

async function memoryRow(commands: Commands, { rounds, meter }: Plan): Promise<readonly Row[]> {
  if (meter === undefined) return []
  const found = await runAlternately(rounds.oneShot, {
    ours: async () => (await meter(commands.ours)).peakMb,
    floor: async () => (await meter(commands.floor)).peakMb,
  })
  return [
    compared("one-shot, peak memory", "MB", { ...found, target: { ratio: 2 } }),
    { name: "one-shot, peak memory, in all", unit: "MB", ours: median(found.ours), target: { atMost: 110 } },
  ]
}
