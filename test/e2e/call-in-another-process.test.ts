import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { contentText } from "../../src/protocol/message.ts"
import type { RecordedRequest } from "../support/model-server/recorded-request.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, repeat, says } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { NO_SANDBOX, settingsFor, startHermes } from "./hermes-process.ts"
import { chainOf, pause, seedSession } from "./killed-session.ts"

const SETTINGS = `  context_length: 200000\nmemory:\n  nudge_interval: 0\n${NO_SANDBOX}`
/** Ends too when the test deletes its directory. */
const COMMAND = "touch started; until [ -e go ] || [ ! -e started ]; do sleep 0.02; done; echo real-result"

/** The first process is asked to run the command, the second one only to answer. */
const script = repeat((request: RecordedRequest) => {
  const { messages } = request.body as { messages: { role: string; content: unknown; tool_call_id?: string }[] }
  const asked = String(messages.findLast(({ role }) => role === "user")?.content)
  if (!asked.endsWith("run it")) return says("Looked.")
  return messages.at(-1)?.role === "user" ? callsTool("terminal", { command: COMMAND }) : says("Ran.")
})

test.each<{ readonly when: "at the request" | "during the call"; readonly endsAfterMs: readonly number[] }>([
  { when: "at the request", endsAfterMs: [0, 150, 300, 600] },
  { when: "during the call", endsAfterMs: [0, 60, 120, 180, 240, 300, 400, 600] },
])(
  "a session that is resumed elsewhere $when gets no result but the real one",
  async ({ when, endsAfterMs }) => {
    for (const ms of endsAfterMs) {
      await using model = await startModelServer([script])
      await using home = await temporaryHome({ config: settingsFor(model, SETTINGS) })
      const id = await seedSession(home, [
        { role: "user", content: "hello" },
        { role: "assistant", content: "Hello." },
      ])
      const open = (prompt: string) =>
        startHermes(home, ["-z", prompt, "--resume", id, "--yolo"], { stdin: "inherit-null" })
      await using first = open("run it")
      await model.received(0)
      if (when === "during the call") await expect.poll(() => existsSync(join(home.workdir, "started"))).toBe(true)
      await using second = open("look")
      await pause(ms)
      writeFileSync(join(home.workdir, "go"), "")
      const exits = await Promise.all([first.exit, second.exit])
      const messages = (await chainOf(home, id)).flatMap((session) => session.messages)
      const results = messages.flatMap((message) => (message.role === "tool" ? [contentText(message.content)] : []))
      expect([ms, exits.map(({ code }) => code), results]).toEqual([
        ms,
        [0, 0],
        [expect.stringContaining("real-result")],
      ])
    }
  },
  40_000,
)

test("a call of a process that was killed is settled once, however many processes resume the session at the same time", async () => {
  await using model = await startModelServer([script])
  await using home = await temporaryHome({ config: settingsFor(model, SETTINGS) })
  const id = await seedSession(home, [{ role: "user", content: "hello" }])
  const open = (prompt: string) =>
    startHermes(home, ["-z", prompt, "--resume", id, "--yolo"], { stdin: "inherit-null" })
  await using killed = open("run it")
  await expect.poll(() => existsSync(join(home.workdir, "started")), { timeout: 10_000 }).toBe(true)
  killed.signal("SIGKILL")
  await killed.exit
  const resumed = ["one", "two", "three"].map(open)
  const exits = await Promise.all(resumed.map(async (running) => await running.exit))
  writeFileSync(join(home.workdir, "go"), "")
  const messages = (await chainOf(home, id)).flatMap((session) => session.messages)
  const results = messages.flatMap((message) => (message.role === "tool" ? [contentText(message.content)] : []))
  expect([exits.map(({ code }) => code), results]).toEqual([[0, 0, 0], [expect.stringContaining('"status":"unknown"')]])
}, 60_000)
