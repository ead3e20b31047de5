import type { Measurement, Row } from "./measurement.ts"
import { compared } from "./measurement.ts"
import type { UsageMeter } from "./resource-usage.ts"
import type { Command } from "./rounds.ts"
import { runAlternately, timeCommand } from "./rounds.ts"
import { startScriptedModel } from "./scripted-model.ts"

const DELTAS = 5000
const PIECE = "word "

interface Commands {
  readonly ours: Command
  readonly floor: Command
}

/** A long reply in many deltas: the cost of each delta from the socket to the end of the run. */
export const longStream: Measurement = {
  name: "long-stream",
  run: async ({ rounds, meter }) => {
    await using model = await startScriptedModel([{ kind: "deltas", count: DELTAS, text: PIECE }])
    await using short = await startScriptedModel([{ text: PIECE }])
    const commands = { ours: model.hermes("-z", "Tell a long story."), floor: model.floor("one-shot") }
    const once = async (command: Command) => {
      const run = await timeCommand(command)
      if (run.stdout.trimEnd() !== PIECE.repeat(DELTAS).trimEnd())
        throw new Error("the long reply was printed incompletely")
      return run.wallMs
    }
    const wall = await runAlternately(rounds.oneShot, {
      ours: () => once(commands.ours),
      floor: () => once(commands.floor),
    })
    const shortCommands = { ours: short.hermes("-z", "Tell a short story."), floor: short.floor("one-shot") }
    return [
      compared("5,000 deltas, wall", "ms", { ...wall, target: { ratio: 1.6 } }),
      ...(meter === undefined ? [] : [await cpuRow(rounds.oneShot, { long: commands, short: shortCommands, meter })]),
    ]
  },
}

/** The additional CPU time of a long reply over a short one, for each delta. */
async function cpuRow(
  rounds: number,
  { long, short, meter }: { readonly long: Commands; readonly short: Commands; readonly meter: UsageMeter },
): Promise<Row> {
  const once = async (side: keyof Commands) => {
    const [more, less] = [await meter(long[side]), await meter(short[side])]
    return ((more.cpuMs - less.cpuMs) * 1000) / DELTAS
  }
  const found = await runAlternately(rounds, { ours: () => once("ours"), floor: () => once("floor") })
  return compared("5,000 deltas, CPU for each", "µs", { ...found, target: { atMost: 30 } })
}
