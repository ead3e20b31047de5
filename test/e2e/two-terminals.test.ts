import { expect, test } from "vitest"

import { talk } from "../fixtures/agent/histories.ts"
import type { RecordedRequest } from "../support/model-server/recorded-request.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { repeat, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor } from "./hermes-process.ts"
import { chainOf, isAuxiliaryRequest, seedSession } from "./killed-session.ts"

const SETTINGS = "  context_length: 200000\nmemory:\n  nudge_interval: 0\n"

/** Replies with the last user message. */
const script = repeat((request: RecordedRequest) =>
  isAuxiliaryRequest(request)
    ? says("## Active Task\nTo go on.\n\n## Goal\nAll of it.")
    : says(`You said ${userTexts(request).at(-1)}.`),
)

function userTexts({ rawBody }: RecordedRequest): readonly string[] {
  const body = JSON.parse(rawBody) as { messages: { role: string; content: unknown }[] }
  return body.messages.flatMap(({ role, content }) => (role === "user" ? [String(content)] : []))
}

test("two terminals on one conversation see each other's messages and compress it once", async () => {
  await using model = await startModelServer([script])
  await using home = await temporaryHome({ config: settingsFor(model, SETTINGS) })
  const id = await seedSession(home, talk(30, 2000))
  await using first = await open(home, id)
  await using second = await open(home, id)

  enter(first, "apples")
  await first.waitFor(/You said apples\.\s+you>/)
  enter(second, "pears")
  await second.waitFor("Another process added 2 messages to this conversation")
  await second.waitFor(/You said pears\.\s+you>/)
  expect(
    model
      .view(1)
      .messages.slice(-3)
      .map(({ text }) => text),
  ).toEqual(["apples", "You said apples.", "pears"])

  enter(first, "/compress here 1")
  await first.waitFor(/It continues as session \S+; the full history stays in/)
  enter(second, "/compress here 1")
  await second.waitFor(/Another process compressed this conversation; it continues as|continues as session/)
  enter(second, "plums")
  await second.waitFor(/You said plums\.\s+you>/)
  enter(first, "figs")
  await first.waitFor(/You said figs\.\s+you>/)
  const last = model.view(model.requests.length - 1).messages.map(({ text }) => text)
  expect(last.slice(-4)).toEqual(["You said pears.", "plums", "You said plums.", "figs"])

  const chain = await chainOf(home, id)
  const tip = chain.at(-1)?.messages.map(({ content }) => content) ?? []
  expect(tip).toEqual(expect.arrayContaining(["You said pears.", "plums", "You said plums.", "figs"]))
  expect(chain.filter(({ messages }) => messages.some(({ content }) => content === "figs"))).toHaveLength(1)
})

test("a session that is open is deleted only by force; the chat then says so and names /new", async () => {
  await using model = await startModelServer([script])
  await using home = await temporaryHome({ config: settingsFor(model, SETTINGS) })
  const id = await seedSession(home, talk(2, 20))
  await using chat = await open(home, id)
  const refused = await hermes(home, ["sessions", "delete", "-y", id])
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/is open in another process \(\d+\)\. Close it first, or delete it anyway with --force\.\n$/),
  ])
  expect((await hermes(home, ["sessions", "delete", "-y", "--force", id])).stdout).toBe(`Deleted ${id}.\n`)

  enter(chat, "still there?")
  await chat.waitFor(/does not exist any more: it was deleted\.\s+Start\s+a\s+new\s+one\s+with\s+`\/new`/)
  expect(model.requests).toEqual([])
  enter(chat, "/quit")
  expect((await chat.exit).code).toBe(0)
  expect(chat.output).not.toContain("--resume")
})

async function open(home: TemporaryHome, id: string): Promise<VirtualTerminal> {
  const terminal = await openTerminal({
    command: hermesCommand(),
    args: ["--resume", id],
    env: home.env,
    cwd: home.workdir,
    columns: 160,
    rows: 60,
  })
  await terminal.waitFor(/you>/)
  return terminal
}

function enter(terminal: VirtualTerminal, text: string): void {
  terminal.type(text)
  terminal.press("enter")
}
