import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test, vi } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, repeat, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { NO_SANDBOX, settingsFor } from "./hermes-process.ts"
import { expectExited } from "./process-alive.ts"

/** Line mode and the full interface do the same. */
const INTERFACES = [
  { name: "line mode", tui: "0", prompt: /^you> /mu },
  { name: "the full interface", tui: "1", prompt: /❯/u },
]

/** Answers by the last message, because tasks and the conversation ask at the same time. */
const script = repeat(({ rawBody }) => {
  if (rawBody.includes('"role":"tool"')) return says("Task is done.")
  if (rawBody.includes("remove the build")) return callsTool("terminal", { command: "rm -r build" })
  if (rawBody.includes("work for long")) return callsTool("terminal", { command: "echo $$ > shell.pid; sleep 300" })
  return says("Understood.")
})

test.each(INTERFACES)("references and commands of the user in $name", async ({ tui, prompt }) => {
  await using model = await startModelServer([script])
  await using home = await temporaryHome({
    config: settingsFor(model, NO_SANDBOX),
    workFiles: { "notes.txt": "remember the milk\n" },
  })
  await using terminal = await openChat(home, tui, prompt)
  enter(terminal, "!echo output-$((40 + 2))")
  await terminal.waitFor("output-42")
  enter(terminal, "read @file:notes.txt, it is {!echo $((6 * 7))} o'clock")
  await terminal.waitFor("Understood.")
  const sent = model.view(0).messages.at(-1)?.text ?? ""
  expect(sent.startsWith("read it is 42 o'clock\n\n[Attached")).toBe(true)
  expect([sent.includes("remember the milk"), sent.includes("output-42")]).toEqual([true, false])
  enter(terminal, "/plan")
  await terminal.waitFor(/plan/iu)
  enter(terminal, "!echo never-$((1 + 1))")
  await terminal.waitFor("Commands of yours do not run in plan mode.")
  expect(terminal.output).not.toContain("never-2")
})

test.each(INTERFACES)(
  "a background task asks, reports, and is asked about at the end in $name",
  async ({ tui, prompt }) => {
    await using model = await startModelServer([script])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
    await using terminal = await openChat(home, tui, prompt)
    enter(terminal, "/background remove the build")
    await terminal.waitFor("background task 1: rm -r build deletes a directory tree")
    await choose(terminal, "o", tui)
    await terminal.waitFor(/Background task 1 \(remove the build\).*[^]*Task is done\./u)
    expect(existsSync(join(home.workdir, "build"))).toBe(false)
    enter(terminal, "/background work for long")
    await vi.waitFor(() => expect(existsSync(join(home.workdir, "shell.pid"))).toBe(true), { timeout: 10_000 })
    enter(terminal, "/quit")
    await terminal.waitFor("1 background task is still running.")
    await choose(terminal, "n", tui)
    await terminal.waitFor("Stopping 1 background task.")
    expect(await terminal.exit).toMatchObject({ code: 0 })
    expect(existsSync(join(home.path, "delegations"))).toBe(false)
  },
)

test("a background task of a killed Hermes is reported by the next start, and nothing of it is left", async () => {
  await using model = await startModelServer([script])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  const pidFile = join(home.workdir, "shell.pid")
  await using killed = await openChat(home, "0", /^you> /mu)
  enter(killed, "/background work for long")
  await vi.waitFor(() => expect(readFileSync(pidFile, "utf8")).toMatch(/\d\n/u), { timeout: 10_000 })
  killed.signal("SIGKILL")
  await killed.exit
  await using next = await openChat(home, "0", /^you> /mu)
  enter(next, "hello")
  await next.waitFor(/The background task 1 \("work for long"\) was interrupted when Hermes ended/u)
  await expectExited(Number(readFileSync(pidFile, "utf8")))
})

async function openChat(home: TemporaryHome, tui: string, prompt: RegExp): Promise<VirtualTerminal> {
  const env = { ...home.env, HERMES_TUI: tui }
  const terminal = await openTerminal({ command: hermesCommand(), env, cwd: home.workdir, columns: 110, rows: 40 })
  await terminal.waitFor(prompt)
  return terminal
}

/** The full interface ignores keys for a moment after a question has appeared. */
const TYPING_GUARD_MS = 320

async function choose(terminal: VirtualTerminal, key: string, tui: string): Promise<void> {
  const pause = (): Promise<void> => systemClock.sleep(TYPING_GUARD_MS, { signal: AbortSignal.timeout(10_000) })
  if (tui === "1") await pause()
  terminal.type(key)
  // An Enter that follows at once would count as typed text.
  if (tui === "1") await pause()
  terminal.press("enter")
}

function enter(terminal: VirtualTerminal, text: string): void {
  terminal.type(text)
  terminal.press("enter")
}
