import { readdirSync, readFileSync } from "node:fs"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../support/bubblewrap.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { callsTool, says, waitsFor } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { prewarmedShells } from "../support/prewarmed-shells.ts"
import { hermes, NO_SANDBOX, settingsFor, startHermes } from "./hermes-process.ts"
import { isAlive } from "./process-alive.ts"

const KINDS = "missing" in (await findBubblewrap()) ? (["plain"] as const) : (["plain", "sandboxed"] as const)
/** On a busy machine. */
const PATIENCE = { timeout: 10_000 }

describe.each(KINDS)("the shell that waits for the next command, %s", (kind) => {
  const homeFor = (model: ModelServer): Promise<TemporaryHome> =>
    temporaryHome({ config: settingsFor(model, kind === "plain" ? NO_SANDBOX : "") })

  test("commands of one answer and of the next see the same, and nothing is left at the end", async () => {
    await using model = await startModelServer([
      callsTool("terminal", { command: "mkdir -p sub && cd sub && export A=1 && echo one" }),
      callsTool("terminal", { command: "basename $PWD; echo $A; cat" }),
      callsTool("terminal", { command: "nosuchcommand" }),
      says("Done."),
    ])
    await using home = await homeFor(model)
    const ended = await hermes(home, ["-z", "look", "--yolo"])
    expect([ended.code, ended.stdout.trim()]).toEqual([0, "Done."])
    const results = [1, 2, 3].flatMap((request) => model.toolResults(request))
    const answers = results.map(({ text }) => JSON.parse(text) as Record<string, unknown>)
    expect(answers.map(({ output, exit_code: code }) => [output, code])).toEqual([
      ["one", 0],
      ["sub\n1", 0],
      ["/bin/bash: line 1: nosuchcommand: command not found", 127],
    ])
    await expect.poll(() => processesIn(home), PATIENCE).toEqual([])
  })

  test("it dies with a Hermes that is killed", async () => {
    const killed = Promise.withResolvers<void>()
    await using model = await startModelServer([
      callsTool("terminal", { command: "true" }),
      says("never said", waitsFor(killed.promise)),
    ])
    await using home = await homeFor(model)
    await using running = startHermes(home, ["-z", "look", "--yolo"])
    running.closeStdin()
    try {
      await model.received(1)
      await expect.poll(() => prewarmedShells(running.pid).length, PATIENCE).toBe(1)
      expect(processesIn(home).length).toBeGreaterThan(1)
      running.signal("SIGKILL")
      await running.exit
    } finally {
      killed.resolve()
    }
    await expect.poll(() => processesIn(home), PATIENCE).toEqual([])
  })
})

/** Command lines of everything that runs with this home. */
function processesIn(home: TemporaryHome): readonly string[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      if (!readFileSync(`/proc/${name}/environ`, "utf8").includes(`HERMES_HOME=${home.path}\0`)) return []
      return isAlive(Number(name)) ? [readFileSync(`/proc/${name}/cmdline`, "utf8")] : []
    } catch {
      // It has ended in the meantime.
      return []
    }
  })
}
