import { spawnSync } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { descriptorLooks } from "./descriptor-looks.ts"

const bubblewrap = await findBubblewrap()
const program = "program" in bubblewrap ? bubblewrap.program : undefined
/** Node keeps lower numbers from its children by itself. */
const NUMBER = 61

test.skipIf(process.platform !== "linux").each(program === undefined ? ["plain"] : ["plain", "sandboxed"])(
  "a descriptor that Hermes was given reaches no command: %s",
  async (kind) => {
    await using home = await temporaryHome({ workFiles: { secret: "not yours" } })
    const file = openSync(join(home.workdir, "secret"), "r")
    const words = [home.workdir, ...(kind === "sandboxed" ? [program] : [])].map((word) => JSON.stringify(word))
    const script = `
      import { descriptorLooks } from ${JSON.stringify(join(import.meta.dirname, "descriptor-looks.ts"))}
      process.stdout.write(JSON.stringify(await descriptorLooks(${words.join(", ")})))
    `
    const between = Array.from({ length: NUMBER - 3 }, () => "ignore" as const)
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "pipe", ...between, file],
      env: { PATH: process.env["PATH"] ?? "" },
      encoding: "utf8",
    })
    closeSync(file)
    expect(stderr).toBe("")
    const expected: Awaited<ReturnType<typeof descriptorLooks>> = {
      ofHermes: join(home.workdir, "secret"),
      seen: {
        first: "0 4",
        byWaitingShell: "0 4",
        withoutState: "0 4",
        inBackground: "0 4",
        inTerminal: "0 4",
      },
    }
    expect(JSON.parse(stdout)).toEqual(expected)
  },
)
