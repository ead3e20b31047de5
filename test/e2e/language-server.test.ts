import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test, vi } from "vitest"

import { findBubblewrap } from "../support/bubblewrap.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says, waitsFor } from "../support/model-server/turn.ts"
import { processesIn } from "../support/processes-in.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, NO_SANDBOX, settingsFor, startHermes } from "./hermes-process.ts"

const TSC = new URL("../../node_modules/typescript/bin/tsc", import.meta.url).pathname
const SERVERS = `lsp:\n  wait_timeout: 15\n  servers:\n    typescript:\n      command: [${TSC}, --lsp, --stdio]\n`
const BROKEN = { path: "new.ts", content: 'export const a: number = "x"\n' }
const bubblewrap = await findBubblewrap()

test("a one-shot reports diagnostics of the language server and leaves no server running", async () => {
  await using model = await startModelServer([callsTool("write_file", BROKEN), says("I see.")])
  await using home = await temporaryHome({ config: settingsFor(model, SERVERS) })
  mkdirSync(join(home.workdir, ".git"))
  expect((await hermes(home, ["-z", "write it", "--yolo"])).stdout).toContain("I see.")
  expect(model.toolResults(1)[0]?.text).toContain(
    String.raw`<diagnostics file=\"new.ts\">\nERROR [1:14] Type 'string' is not assignable to type 'number'. [2322] (ts)\n</diagnostics>`,
  )
  await expect.poll(() => processesIn(home.workdir), { timeout: 5000 }).toEqual([])
})

test("`hermes lsp status` shows a failed server, `restart` allows it again, and it delays nothing", async () => {
  const broken =
    "lsp:\n  servers:\n    typescript:\n      command: [/bin/sh, -c, 'echo fatal error: no licence >&2; exit 9']\n"
  await using model = await startModelServer([callsTool("write_file", BROKEN), says("Written.")])
  await using home = await temporaryHome({ config: settingsFor(model, broken) })
  mkdirSync(join(home.workdir, ".git"))
  expect((await hermes(home, ["-z", "write it", "--yolo"])).stdout).toContain("Written.")
  expect(readFileSync(join(home.workdir, "new.ts"), "utf8")).toBe(BROKEN.content)
  const { stdout } = await hermes(home, ["lsp", "status"])
  expect(stdout).toMatch(/typescript +1 file +failed, see below: \/bin\/sh -c/u)
  expect(stdout).toContain("just now: it exited with code 9: fatal error: no licence")
  expect((await hermes(home, ["lsp", "restart"])).stdout).toMatch(/^Cleared 1 failure/u)
  expect((await hermes(home, ["lsp", "status"])).stdout).not.toContain("failed")
})

test.each([
  ["in the sandbox", "terminal:\n  sandbox: required\n"],
  ["without the sandbox", NO_SANDBOX],
] as const)("a killed Hermes leaves no server running, %s", async (name, sandboxSettings) => {
  if (name === "in the sandbox" && "missing" in bubblewrap) return
  const gate = Promise.withResolvers<void>()
  await using model = await startModelServer([
    callsTool("write_file", BROKEN),
    says("Never read.", waitsFor(gate.promise)),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, `${SERVERS}${sandboxSettings}`) })
  mkdirSync(join(home.workdir, ".git"))
  await using running = startHermes(home, ["-z", "write it", "--yolo"], { stdin: "inherit-null" })
  await vi.waitFor(
    () => {
      expect(model.requests).toHaveLength(2)
    },
    { timeout: 20_000 },
  )
  expect(model.toolResults(1)[0]?.text).toContain("lsp_diagnostics")
  expect(processesIn(home.workdir).filter((pid) => pid !== running.pid)).not.toEqual([])
  running.signal("SIGKILL")
  await running.exit
  await vi.waitFor(
    () => {
      expect(processesIn(home.workdir)).toEqual([])
    },
    { timeout: 5000 },
  )
  gate.resolve()
})
