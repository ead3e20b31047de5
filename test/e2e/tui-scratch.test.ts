import { test, expect } from "vitest"
import { callsTool, says, stallsAfter } from "../support/model-server/turn.ts"
import { seededRandom } from "../support/seeded-random.ts"
import { openFullChat, IDLE, BUSY } from "./full-chat.ts"
import { NO_SANDBOX } from "./hermes-process.ts"
const show = (name: string, chat: any) => console.log(`=== ${name}\n${chat.everything()}`)
const pause = (ms: number) => new Promise((r) => setTimeout(r, ms))
test.each([1, 2, 3])("slow %i", async (seed) => {
  const gate = Promise.withResolvers<void>()
  const random = seededRandom(seed)
  await using chat = await openFullChat([
      callsTool("terminal", { command: "until test -e go; do echo tick; sleep 0.05; done" }),
      says(["Waiting 日本語 👩‍👩‍👧 " + "words ".repeat(60), " over."], stallsAfter({ deltas: 1 }, gate.promise)),
  ], { settings: `${NO_SANDBOX}display:\n  busy_input_mode: steer\n` })
  chat.send("go with a message that is long enough to be wrapped in narrow windows, I hope so 日本語")
  await chat.waitForScreen("until test")
  chat.type("a draft that is also long enough to be wrapped into several rows of the editor, with 日本語 in it")
  for (let i = 0; i < 14; i += 1) {
    chat.resize(40 + Math.floor(random() * 60), 12 + Math.floor(random() * 20))
    await pause(40 + Math.floor(random() * 120))
  }
  chat.resize(80, 24)
  await pause(200)
  chat.press("ctrl+c")
  await chat.waitForScreen(/Interrupted/)
  await pause(100)
  const all = chat.everything().split("\n")
  show("end", chat)
  expect(all.filter((row) => /^ ⚕ test-model/u.test(row))).toHaveLength(1)
  expect(all.filter((row) => /a draft that/u.test(row))).toHaveLength(1)
  expect(all.filter((row) => /until test/u.test(row))).toHaveLength(1)
}, 60000)
