import { installedCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { Measurement, Row } from "./measurement.ts"
import { compared } from "./measurement.ts"
import { runAlternately, timeCommand } from "./rounds.ts"

const FLAGS = [
  { flag: "--version", ratio: 1.5 },
  { flag: "--help", ratio: 2 },
] as const

/** The start-up time of Hermes, compared with that of Node. */
export const startUp: Measurement = {
  name: "start-up",
  run: async ({ rounds }) => {
    await using home = await temporaryHome()
    const context = { env: home.env, cwd: home.workdir }
    const rows: Row[] = []
    for (const { flag, ratio } of FLAGS) {
      const found = await runAlternately(rounds.startUp, {
        ours: async () => (await timeCommand({ argv: [...installedCommand(), flag], ...context })).wallMs,
        floor: async () => (await timeCommand({ argv: [process.execPath, "-e", "0"], ...context })).wallMs,
      })
      rows.push(compared(`hermes ${flag}`, "ms", { ...found, target: { ratio } }))
    }
    return rows
  },
}
