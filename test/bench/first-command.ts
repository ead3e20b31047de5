import { spawn } from "node:child_process"
import { once } from "node:events"

import { installedCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { startCommandModel } from "./command-model.ts"
import type { Measurement } from "./measurement.ts"
import { median } from "./measurement.ts"
import { runAlternately, timeCommand } from "./rounds.ts"
import { shell } from "./tool-turns.ts"

/** How long a fast model takes to its first reply. */
const THINKING_MS = 300

/** From the reply with the first tool call of a run to the request with its result, beyond the bare command. */
export const firstCommand: Measurement = {
  name: "first-command",
  run: async ({ rounds }) => {
    await using model = await startCommandModel({ calls: 1, thinkingMs: THINKING_MS })
    await using home = await temporaryHome({
      config: `model:\n  provider: custom\n  default: scripted\n  base_url: ${model.url}\n`,
    })
    const run = (sandbox: "auto" | "off") => async (): Promise<number> => {
      model.takeTimes()
      await timeCommand({
        argv: [...installedCommand(), "-z", "Run true."],
        env: { ...home.env, TERMINAL_SANDBOX: sandbox },
        cwd: home.workdir,
      })
      const { requests, replies } = model.takeTimes()
      const [called, answered] = [replies[0], requests[1]]
      if (called === undefined || answered === undefined) throw new Error("Hermes did not run the command")
      return answered - called
    }
    const found = await runAlternately(rounds.oneShot, {
      plain: run("off"),
      sandboxed: run("auto"),
      floor: bareCommand,
    })
    const overhead = (side: "plain" | "sandboxed"): number => median(found[side]) - median(found.floor)
    return [
      { name: "first command of a run, beyond it", unit: "ms", ours: overhead("plain"), target: { atMost: 30 } },
      {
        name: "first command of a run, sandboxed, beyond it",
        unit: "ms",
        ours: overhead("sandboxed"),
        target: { atMost: 30 },
      },
    ]
  },
}

async function bareCommand(): Promise<number> {
  const started = performance.now()
  const child = spawn(shell(), ["-c", "true"], { stdio: ["ignore", "pipe", "pipe"] })
  for (const stream of [child.stdout, child.stderr]) stream.resume()
  await once(child, "close")
  return performance.now() - started
}
