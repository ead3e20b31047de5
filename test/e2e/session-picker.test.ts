import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

test("sessions browse filters, deletes and renames; Enter resumes the selected session", async () => {
  await using model = await startModelServer([says("Red ones."), says("Done."), says("Ten."), says("Welcome back.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  for (const words of ["which roses", "fix the parser", "how many trees"]) await hermes(home, ["-z", words])

  await using terminal = await browse(home)
  await terminal.waitFor(/Sessions ─+ 3 ──/)
  terminal.type("parser")
  await terminal.waitFor(/Sessions ─+ 1 of 3 ──/)
  terminal.press("ctrl+d")
  await terminal.waitFor(/Delete .*\?/)
  terminal.type("y\r")
  await terminal.waitFor(/Deleted/)
  terminal.press("ctrl+u")
  await terminal.waitFor(/Sessions ─+ 2 ──/)
  terminal.type("roses")
  await terminal.waitFor(/Sessions ─+ 1 of 2 ──/)
  terminal.press("ctrl+r")
  await terminal.waitFor(/which roses/)
  terminal.press("ctrl+u")
  terminal.type("Garden")
  terminal.press("enter")
  await terminal.waitFor(/› +\S* *Garden/)
  terminal.press("enter")
  await terminal.waitFor(/Continuing \S+ with 2 messages\./)
  terminal.type("hello again\r")
  await terminal.waitFor("Welcome back.")
  expect(model.view(3).messages.map(({ text }) => text)).toEqual(["which roses", "Red ones.", "hello again"])

  const { stdout } = await hermes(home, ["sessions", "list", "--json"])
  expect((JSON.parse(stdout) as { title: string }[]).map(({ title }) => title)).toEqual(["Garden", "how many trees"])
})

test("Esc restores the screen", async () => {
  await using model = await startModelServer([says("Red ones.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await hermes(home, ["-z", "which roses"])
  await using terminal = await browse(home)
  await terminal.waitFor(/Sessions ─+ 1 ──/)
  terminal.press("escape")
  expect((await terminal.exit).code).toBe(0)
  expect(terminal.screen()).toEqual([])
})

async function browse(home: TemporaryHome): Promise<VirtualTerminal> {
  return await openTerminal({
    command: hermesCommand(),
    args: ["sessions", "browse"],
    env: home.env,
    cwd: home.workdir,
  })
}
