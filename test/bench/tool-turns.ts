import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import type { Measurement, Row, Samples } from "./measurement.ts"
import { compared, median } from "./measurement.ts"
import type { Command } from "./rounds.ts"
import { runAlternately, timeCommand } from "./rounds.ts"
import { startScriptedModel } from "./scripted-model.ts"
import { requireCommandsRan, toolConversation } from "./tool-conversation.ts"

const TURNS = 20

/** The overhead of the loop, dispatch, policy and durable writes for each turn with a tool call. */
export const toolTurns: Measurement = {
  name: "tool-turns",
  run: async ({ rounds }) => {
    await using model = await startScriptedModel(toolConversation(TURNS))
    const sandboxed = model.hermes("-z", "Run true.")
    const once = async (command: Command) => {
      const { wallMs } = await timeCommand(command)
      const sent = await model.takeRequests()
      requireCommandsRan(sent.at(-1)?.body, TURNS)
      const times = sent.map((request) => request.at)
      if (times.length !== TURNS + 1) throw new Error(`expected ${TURNS + 1} requests, received ${times.length}`)
      return { wallMs, perTurnMs: ((times.at(-1) ?? 0) - (times[0] ?? 0)) / TURNS }
    }

    await timeCommand(sandboxed)
    const firstBody = (await model.takeRequests())[0]?.rawBody ?? ""
    const bodyFile = join(model.home.workdir, "first-request.json")
    await writeFile(bodyFile, firstBody)
    const floor = model.floor("tool-turns", bodyFile, shell())
    const unsandboxed = { ...sandboxed, env: { ...sandboxed.env, TERMINAL_SANDBOX: "off" } }
    const found = await runAlternately(rounds.oneShot, {
      sandboxed: () => once(sandboxed),
      unsandboxed: () => once(unsandboxed),
      floor: () => once(floor),
    })
    const of = (field: "wallMs" | "perTurnMs", side: "sandboxed" | "unsandboxed") => ({
      ours: found[side].map((run) => run[field]),
      floor: found.floor.map((run) => run[field]),
    })
    // The floor has no sandbox, so the first rows are without one. The others show the cost of the sandbox.
    return [
      ...rowsFor("", { wall: of("wallMs", "unsandboxed"), perTurn: of("perTurnMs", "unsandboxed"), beyondMs: 4 }),
      ...rowsFor(", sandboxed", {
        wall: of("wallMs", "sandboxed"),
        perTurn: of("perTurnMs", "sandboxed"),
        beyondMs: 6,
      }),
    ]
  },
}

function rowsFor(
  suffix: string,
  found: { readonly wall: Samples; readonly perTurn: Samples; readonly beyondMs: number },
): readonly Row[] {
  const { wall, perTurn, beyondMs } = found
  return [
    compared(`${TURNS} tool turns${suffix}, wall`, "ms", { ...wall, target: { ratio: 2.5 } }),
    compared(`one tool turn${suffix}`, "ms", perTurn),
    {
      name: `one tool turn${suffix}, beyond the floor`,
      unit: "ms",
      ours: median(perTurn.ours) - median(perTurn.floor),
      target: { atMost: beyondMs },
    },
  ]
}

/** The shell that Hermes runs commands with. */
export function shell(): string {
  return ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh"
}
