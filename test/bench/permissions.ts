import { fileURLToPath } from "node:url"

import { LAUNCHER_FLAGS } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { Measurement, Row } from "./measurement.ts"
import type { DecisionTimes } from "./permission-decisions.ts"
import { timeCommand } from "./rounds.ts"

const RULES = 500

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0

/** In a process of its own, with the flags of the installed command: how V8 collects garbage decides about the slowest ones. */
export const permissions: Measurement = {
  name: "permissions",
  run: async () => {
    await using home = await temporaryHome()
    const program = fileURLToPath(new URL("./permission-decisions.ts", import.meta.url))
    const { stdout } = await timeCommand({
      argv: [process.execPath, ...LAUNCHER_FLAGS, program, String(RULES)],
      env: home.env,
      cwd: home.workdir,
    })
    const { commands, files } = JSON.parse(stdout) as DecisionTimes
    const row = (name: string, ours: number, atMost?: number): Row => ({
      name: `permissions: ${name}, ${RULES} rules`,
      unit: "µs",
      ours: ours * 1000,
      ...(atMost === undefined ? {} : { target: { atMost } }),
    })
    return [
      row("a command, median", percentile(commands, 0.5)),
      row("a command, p99", percentile(commands, 0.99), 500),
      row("a file, p99", percentile(files, 0.99), 500),
    ]
  },
}
