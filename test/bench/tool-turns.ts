import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import type { Measurement, Row, Samples } from "./measurement.ts"
import { compared, median } from "./measurement.ts"
import type { Command } from "./rounds.ts"
import { inTurns, timeCommand } from "./rounds.ts"
import { startScriptedModel } from "./scripted-model.ts"
import { requireCommandsRan, toolConversation } from "./tool-conversation.ts"

const TURNS = 20

/** What the loop, dispatch, policy and durable writes add to each turn of a conversation with tool calls. */
export const toolTurns: Measurement = {
  name: "tool-turns",
  run: async ({ rounds }) => {
    await using model = await startScriptedModel(toolConversation(TURNS))
    const ask = model.hermes("-z", "Run true.")
    const once = async (command: Command) => {
      const { wallMs } = await timeCommand(command)
      const sent = await model.takeRequests()
      requireCommandsRan(sent.at(-1)?.body, TURNS)
      const times = sent.map((request) => request.at)
      if (times.length !== TURNS + 1) throw new Error(`${TURNS} tool turns gave ${times.length} requests`)
      return { wallMs, perTurnMs: ((times.at(-1) ?? 0) - (times[0] ?? 0)) / TURNS }
    }

    await timeCommand(ask)
    const firstBody = (await model.takeRequests())[0]?.rawBody ?? ""
    const bodyFile = join(model.home.workdir, "first-request.json")
    await writeFile(bodyFile, firstBody)
    const floor = model.floor("tool-turns", bodyFile, shell())
    const open = { ...ask, env: { ...ask.env, TERMINAL_SANDBOX: "off" } }
    const found = await inTurns(rounds.oneShot, {
      ours: () => once(ask),
      open: () => once(open),
      floor: () => once(floor),
    })
    const of = (field: "wallMs" | "perTurnMs", ours: "ours" | "open" = "ours") => ({
      ours: found[ours].map((run) => run[field]),
      floor: found.floor.map((run) => run[field]),
    })
    // The floor has no sandbox, so the loop is judged without one; the rows behind show what a sandbox costs.
    return [
      ...rowsFor("", of("wallMs", "open"), of("perTurnMs", "open")),
      ...rowsFor(", sandboxed", of("wallMs"), of("perTurnMs")),
    ]
  },
}

function rowsFor(how: string, wall: Samples, perTurn: Samples): readonly Row[] {
  return [
    compared(`${TURNS} tool turns${how}, wall`, "ms", { ...wall, target: { ratio: 2.5 } }),
    compared(`one tool turn${how}`, "ms", perTurn),
    {
      name: `one tool turn${how}, beyond the floor`,
      unit: "ms",
      ours: median(perTurn.ours) - median(perTurn.floor),
      target: { atMost: 10 },
    },
  ]
}

/** The shell that Hermes runs commands with. */
export function shell(): string {
  return ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh"
}
