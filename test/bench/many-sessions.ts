import { fileURLToPath } from "node:url"

import { LAUNCHER_FLAGS } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { startCommandModel } from "./command-model.ts"
import type { ManySessionsResult } from "./many-sessions-app.ts"
import type { Measurement, Row } from "./measurement.ts"
import { timeCommand } from "./rounds.ts"

const SESSIONS = 1000
const CONCURRENT = 12
const COMMANDS = 3

/** A thousand conversations with three commands each in one process. All of them stay open, as in a gateway. */
export const manySessions: Measurement = {
  name: "many-sessions",
  slow: true,
  run: async () => [...rowsOf("", await measure("off")), ...rowsOf(", sandboxed", await measure("auto"))],
}

async function measure(sandbox: "auto" | "off"): Promise<ManySessionsResult> {
  await using model = await startCommandModel({ calls: COMMANDS })
  await using home = await temporaryHome({
    config: `model:\n  provider: custom\n  default: scripted\n  base_url: ${model.url}\nterminal:\n  sandbox: ${sandbox}\n`,
  })
  const program = fileURLToPath(new URL("./many-sessions-app.ts", import.meta.url))
  const { stdout } = await timeCommand({
    argv: [process.execPath, ...LAUNCHER_FLAGS, program, String(SESSIONS), String(CONCURRENT)],
    env: home.env,
    cwd: home.workdir,
  })
  return JSON.parse(stdout) as ManySessionsResult
}

function rowsOf(suffix: string, found: ManySessionsResult): readonly Row[] {
  return [
    { name: `1,000 sessions${suffix}`, unit: "s", ours: found.wallMs / 1000, target: { atMost: 60 } },
    {
      name: `1,000 sessions${suffix}, longest stall`,
      unit: "ms",
      ours: found.longestStallMs,
      target: { atMost: 100 },
    },
    { name: `1,000 sessions${suffix}, memory`, unit: "MB", ours: found.rssMb },
    { name: `1,000 sessions${suffix}, memory after 100`, unit: "MB", ours: found.earlyRssMb },
    { name: `1,000 sessions${suffix}, descriptors`, unit: "count", ours: found.descriptors, target: { atMost: 200 } },
    { name: `1,000 sessions${suffix}, child processes`, unit: "count", ours: found.children, target: { atMost: 32 } },
  ]
}
