import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { Measurement, Row } from "./measurement.ts"
import { compared } from "./measurement.ts"
import { inTurns, timeCommand } from "./rounds.ts"

const QUESTIONS = [
  { flag: "--version", ratio: 1.5 },
  { flag: "--help", ratio: 2 },
] as const

/** What Hermes adds to Node's own start before it has done anything. */
export const startUp: Measurement = {
  name: "start-up",
  run: async ({ rounds }) => {
    await using home = await temporaryHome()
    const place = { env: home.env, cwd: home.workdir }
    const rows: Row[] = []
    for (const { flag, ratio } of QUESTIONS) {
      const found = await inTurns(rounds.startUp, {
        ours: async () => (await timeCommand({ argv: [...hermesCommand(), flag], ...place })).wallMs,
        floor: async () => (await timeCommand({ argv: [process.execPath, "-e", "0"], ...place })).wallMs,
      })
      rows.push(compared(`hermes ${flag}`, "ms", { ...found, target: { ratio } }))
    }
    return rows
  },
}
