import { existsSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

test("a conversation asks once about each new hook; elsewhere it is skipped with a sentence", async () => {
  await using model = await startModelServer([says("one"), says("two"), says("three"), says("four")])
  const hooks = `hooks:\n  pre_llm_call:\n    - {command: "touch first"}\n    - {command: "touch second"}\n`
  await using home = await temporaryHome({ config: settingsFor(model, hooks) })
  const made = (name: string): boolean => existsSync(join(home.workdir, name))

  const piped = await hermes(home, ["-q", "hello"])
  expect(piped.stderr).toContain("The hook `touch first` for pre_llm_call is skipped")
  expect(made("first")).toBe(false)

  await using terminal = await openTerminal({
    command: hermesCommand(),
    args: ["--cli"],
    env: home.env,
    cwd: home.workdir,
    columns: 120,
    rows: 40,
  })
  await terminal.waitFor(/Run the hook `touch first` on every pre_llm_call\? \[y\/N\]/u)
  terminal.type("y")
  terminal.press("enter")
  await terminal.waitFor(/Run the hook `touch second` on every pre_llm_call\? \[y\/N\]/u)
  terminal.press("enter")
  await terminal.waitFor(/^you> /mu)
  terminal.type("hello")
  terminal.press("enter")
  await terminal.waitFor(/two/u)
  expect([made("first"), made("second")]).toEqual([true, false])

  const next = await hermes(home, ["-q", "hello"])
  expect(next.stderr).not.toContain("touch first")
  expect(next.stderr).toContain("The hook `touch second` for pre_llm_call is skipped")
  await hermes(home, ["--accept-hooks", "-q", "hello"])
  expect(made("second")).toBe(true)
})
