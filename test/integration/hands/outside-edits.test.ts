import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as thinking } from "node:timers/promises"

import { expect, test } from "vitest"

import { callsTool, says } from "../../support/model-server/turn.ts"
import type { TurnMaker } from "../../support/model-server/turn.ts"
import { assembleApp, manualClock, runToEnd } from "../assembled-app.ts"
import { openHands, QUIET } from "./hands.ts"
import type { Hands } from "./hands.ts"

const NOTE = /changed externally since you last read them: [^\]]*/u
/** The system tells of an edit when it pleases, and the watcher waits until a file has come to rest. */
const THINKING_MS = 150
const FILES = { "seen.txt": "one\n", "own.txt": "one\n", "shell.txt": "one\n" }

test("an edit from outside is told once, in the middle of a turn too; own writes and commands are not", async () => {
  await using house = await assembleApp([], { config: `${QUIET}watcher:\n  enabled: true\n`, workFiles: FILES })
  await using hands = await openHands(house)
  for (const path of Object.keys(FILES)) await hands.fields("read_file", { path })
  await hands.fields("write_file", { path: "own.txt", content: "two\n" })
  await hands.fields("patch", { path: "own.txt", old_string: "two", new_string: "three" })
  await hands.fields("terminal", { command: "echo two >shell.txt" })
  // The person edits while the model thinks; it goes on looking until it hears of it.
  const edit = (): void => {
    writeFileSync(join(house.home.workdir, "seen.txt"), "edited by the person\n")
  }
  let looks = 0
  const look: TurnMaker = async ({ rawBody }) => {
    if (NOTE.test(rawBody)) return says("I see.")
    house.model.push(look)
    await thinking(THINKING_MS)
    if (looks === 0) edit()
    return callsTool("search_files", { pattern: `nothing ${(looks += 1)}` })
  }
  house.model.push(look)
  await runToEnd(hands.session, "look around")
  expect(looks).toBeGreaterThan(0)
  // What it had read is not taken for known any more, and it is not told a second time.
  house.model.push(async () => {
    await thinking(2 * THINKING_MS)
    return callsTool("read_file", { path: "seen.txt" })
  }, says("Read."))
  await runToEnd(hands.session, "read it again")
  const all = house.model.requests.at(-1)?.rawBody ?? ""
  expect(all).toContain("1|edited by the person")
  expect(all.match(new RegExp(NOTE, "gu"))).toEqual([
    "changed externally since you last read them: seen.txt (modified)",
  ])
})

test("what changed while nobody asked comes with the next message, and without the watcher nothing does", async () => {
  for (const enabled of [true, false]) {
    const clock = manualClock()
    await using house = await assembleApp([], {
      clock,
      config: `${QUIET}watcher:\n  enabled: ${enabled}\n`,
      workFiles: FILES,
    })
    await using hands = await openHands(house)
    await hands.fields("read_file", { path: "seen.txt" })
    writeFileSync(join(house.home.workdir, "seen.txt"), "edited by the person\n")
    const words = async (): Promise<string> => await wordsOfNextMessage(hands, house, clock)
    if (enabled) expect(await firstNote(words)).toContain("seen.txt")
    else expect([await words(), await words(), await words()]).toEqual(["", "", ""])
  }
})

/** The system tells of an edit when it pleases. */
async function firstNote(look: () => Promise<string>): Promise<string> {
  for (;;) {
    const note = await look()
    if (note !== "") return note
  }
}

/** What a message carries beside the person's words. */
async function wordsOfNextMessage(
  hands: Hands,
  house: Awaited<ReturnType<typeof assembleApp>>,
  clock: ReturnType<typeof manualClock>,
): Promise<string> {
  clock.advance(5000)
  house.model.push(says("Yes."))
  await hands.session.ask("there?", { signal: new AbortController().signal })
  const sent = house.model.view(house.model.requests.length - 1).messages.at(-1)?.text ?? ""
  return sent.replace("there?", "").trim()
}
