import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { settingsFor } from "./hermes-process.ts"
import { expectExited } from "./process-alive.ts"

const WAITS_FOR_GO = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo built; exit 3"

test("a background process that ends while the user types starts one turn and keeps the draft", async () => {
  await using model = await startModelServer([
    callsTool("terminal", { command: WAITS_FOR_GO, background: true, notify_on_complete: true }),
    says("It builds."),
    says("The build failed with 3."),
    says("You are welcome."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  await prompt(terminal, 1)
  enter(terminal, "build it")
  await terminal.waitFor("It builds.")
  await prompt(terminal, 2)
  terminal.type("thank you ve")
  await terminal.waitFor("you> thank you ve")
  writeFileSync(join(home.workdir, "go"), "")
  await terminal.waitFor("The build failed with 3.")
  await terminal.waitFor(/The build failed with 3\.[^]*you> thank you ve$/u)
  const notice = model.view(2).messages.at(-1)?.text ?? ""
  expect(notice).toMatch(
    /^\[IMPORTANT: Background process \S+ completed with exit code 3\. This is a report by Hermes[^\n]*\nCommand: echo begun;[^]*Output, up to [^]*:\nbegun\nbuilt\n\[end of output \w+\]\]/u,
  )
  terminal.type("ry much")
  terminal.press("enter")
  await terminal.waitFor("You are welcome.")
  const texts = model.view(3).messages.map(({ text }) => text)
  expect(texts.at(-1)).toBe("thank you very much")
  expect(texts.filter((text) => text.startsWith("[IMPORTANT"))).toHaveLength(1)
  expect(model.requests).toHaveLength(4)
  expect(model.unanswered).toEqual([])
})

test("a process that ends during a reply is reported after it, unless the model has already seen its end", async () => {
  const gate = Promise.withResolvers<void>()
  await using model = await startModelServer([
    callsTool("terminal", { command: WAITS_FOR_GO, background: true, notify_on_complete: true }),
    async () => {
      await gate.promise
      return says("First answer.")
    },
    says("I saw the notice."),
    callsTool("terminal", { command: "exit 0", background: true, notify_on_complete: true }),
    (request) => {
      const id = /"session_id\\?":\s*\\?"(proc_\w+)/gu.exec(
        request.rawBody.slice(request.rawBody.lastIndexOf("Background process started")),
      )?.[1]
      return callsTool("process", { action: "wait", session_id: id ?? "none" })
    },
    says("It ended."),
    says("Nothing new."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  enter(terminal, "build it")
  await terminal.waitFor("→ terminal")
  await model.received(1)
  writeFileSync(join(home.workdir, "go"), "")
  gate.resolve()
  await terminal.waitFor("I saw the notice.")
  enter(terminal, "and a short one")
  await terminal.waitFor("It ended.")
  enter(terminal, "anything new?")
  await terminal.waitFor("Nothing new.")
  const texts = model.view(model.requests.length - 1).messages.map(({ text }) => text)
  expect(texts.filter((text) => text.startsWith("[IMPORTANT"))).toHaveLength(1)
  expect(texts.at(-1)).toBe("anything new?")
})

test("the end of the conversation ends its background processes", async () => {
  await using model = await startModelServer([
    callsTool("terminal", { command: "echo $$ >pid; exec sleep 300", background: true }),
    says("It runs."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, "terminal:\n  sandbox: off\n") })
  await using terminal = await openChat(home)
  enter(terminal, "start it")
  await terminal.waitFor("It runs.")
  await expect.poll(() => existsSync(join(home.workdir, "pid"))).toBe(true)
  terminal.press("ctrl+d")
  expect((await terminal.exit).code).toBe(0)
  const pid = Number(readFileSync(join(home.workdir, "pid"), "utf8"))
  await expectExited(pid)
})

async function openChat(home: TemporaryHome): Promise<VirtualTerminal> {
  return await openTerminal({ command: hermesCommand(), args: [], env: home.env, cwd: home.workdir })
}

async function prompt(terminal: VirtualTerminal, times: number): Promise<void> {
  await terminal.waitFor(new RegExp(`(?:^you> [^]*){${times}}`, "m"))
}

function enter(terminal: VirtualTerminal, text: string): void {
  terminal.type(text)
  terminal.press("enter")
}
