import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as thinking } from "node:timers/promises"

import { expect, test } from "vitest"

import { callsTool, says } from "../../support/model-server/turn.ts"
import type { TurnFunction } from "../../support/model-server/turn.ts"
import { manualClock } from "../../support/manual-clock.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { openToolSession, QUIET } from "./tool-session.ts"
import type { ToolSession } from "./tool-session.ts"

const NOTE = /changed externally since you last read them: [^\]]*/u
/** Gives the watcher time: the system reports an edit with a delay, and the watcher waits until a file stops changing. */
const THINKING_MS = 150
const FILES = { "seen.txt": "one\n", "own.txt": "one\n", "shell.txt": "one\n" }

test("an external edit is reported once, even during a turn; own writes and commands are not", async () => {
  await using app = await assembleApp([], { config: `${QUIET}watcher:\n  enabled: true\n`, workFiles: FILES })
  await using tools = await openToolSession(app)
  for (const path of Object.keys(FILES)) await tools.fields("read_file", { path })
  await tools.fields("write_file", { path: "own.txt", content: "two\n" })
  await tools.fields("patch", { path: "own.txt", old_string: "two", new_string: "three" })
  await tools.fields("terminal", { command: "echo two >shell.txt" })
  // The user edits while the model is thinking; the model keeps calling tools until it reads the note.
  const edit = (): void => {
    writeFileSync(join(app.home.workdir, "seen.txt"), "edited by the user\n")
  }
  let searches = 0
  const searchUntilNoted: TurnFunction = async ({ rawBody }) => {
    if (NOTE.test(rawBody)) return says("I see.")
    app.model.push(searchUntilNoted)
    await thinking(THINKING_MS)
    if (searches === 0) edit()
    return callsTool("search_files", { pattern: `nothing ${(searches += 1)}` })
  }
  app.model.push(searchUntilNoted)
  await runToEnd(tools.session, "search the files")
  expect(searches).toBeGreaterThan(0)
  // The file is read again in full, and the edit is not reported a second time.
  app.model.push(async () => {
    await thinking(2 * THINKING_MS)
    return callsTool("read_file", { path: "seen.txt" })
  }, says("Read."))
  await runToEnd(tools.session, "read it again")
  const all = app.model.requests.at(-1)?.rawBody ?? ""
  expect(all).toContain("1|edited by the user")
  expect(all.match(new RegExp(NOTE, "gu"))).toEqual([
    "changed externally since you last read them: seen.txt (modified)",
  ])
})

test("an edit between turns is reported with the next message, but not without the watcher", async () => {
  for (const enabled of [true, false]) {
    const clock = manualClock()
    await using app = await assembleApp([], {
      clock,
      config: `${QUIET}watcher:\n  enabled: ${enabled}\n`,
      workFiles: FILES,
    })
    await using tools = await openToolSession(app)
    await tools.fields("read_file", { path: "seen.txt" })
    writeFileSync(join(app.home.workdir, "seen.txt"), "edited by the user\n")
    const note = async (): Promise<string> => await noteOfNextMessage(tools, app, clock)
    // The system reports an edit with a delay.
    if (enabled) await expect.poll(note, { timeout: 20_000 }).toContain("seen.txt")
    else expect([await note(), await note(), await note()]).toEqual(["", "", ""])
  }
})

/** What Hermes adds to the next user message. */
async function noteOfNextMessage(
  tools: ToolSession,
  app: Awaited<ReturnType<typeof assembleApp>>,
  clock: ReturnType<typeof manualClock>,
): Promise<string> {
  await clock.advance(5000)
  app.model.push(says("Yes."))
  await tools.session.ask("there?", { signal: new AbortController().signal })
  const sent = app.model.view(app.model.requests.length - 1).messages.at(-1)?.text ?? ""
  return sent.replace("there?", "").trim()
}
