import { spawnSync } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import type { visibleDescriptors } from "./visible-descriptors.ts"
import { NOT_LINUX, titleWithReason } from "../../support/skip-reason.ts"

const bubblewrap = await findBubblewrap()
const program = "program" in bubblewrap ? bubblewrap.program : undefined
/** Node itself closes lower descriptors in its children. */
const NUMBER = 61

test.skipIf(NOT_LINUX !== undefined).each(program === undefined ? ["plain"] : ["plain", "sandboxed"])(
  titleWithReason("commands do not inherit a descriptor that Hermes inherited: %s", NOT_LINUX),
  async (kind) => {
    await using home = await temporaryHome({ workFiles: { secret: "not yours" } })
    const file = openSync(join(home.workdir, "secret"), "r")
    const words = [home.workdir, ...(kind === "sandboxed" ? [program] : [])].map((word) => JSON.stringify(word))
    const script = `
      import { visibleDescriptors } from ${JSON.stringify(join(import.meta.dirname, "visible-descriptors.ts"))}
      process.stdout.write(JSON.stringify(await visibleDescriptors(${words.join(", ")})))
    `
    const between = Array.from({ length: NUMBER - 3 }, () => "ignore" as const)
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "pipe", ...between, file],
      env: { PATH: process.env["PATH"] ?? "" },
      encoding: "utf8",
    })
    closeSync(file)
    expect(stderr).toBe("")
    const expected: Awaited<ReturnType<typeof visibleDescriptors>> = {
      ofHermes: join(home.workdir, "secret"),
      seen: {
        first: "0 4",
        inPrewarmedShell: "0 4",
        withoutState: "0 4",
        inBackground: "0 4",
        inTerminal: "0 4",
      },
    }
    expect(JSON.parse(stdout)).toEqual(expected)
  },
)
