import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"

import { createTestHome, type TestHome } from "../../../../test/support/command-run.ts"
import { stageWrite } from "../../../knowledge/memory/staged-writes.ts"

function homeWith(files: Readonly<Record<string, string>>): TestHome {
  const home = createTestHome()
  mkdirSync(home.home.file("memories"), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(home.home.file(name), text)
  return home
}

test("an empty home", async () => {
  using home = createTestHome()
  expect(await home.run(["memory"])).toEqual({
    code: 0,
    out:
      "MEMORY.md  0% — 0/2,200 chars, 0 entries\nUSER.md    0% — 0/1,375 chars, 0 entries\n" +
      "provider   none, only the two files are used\napproval   not needed\nwaiting    nothing\n",
    err: "",
  })
})

test("status shows files, provider, approval, what waits and what is wrong", async () => {
  using home = homeWith({
    "config.yaml": "memory:\n  provider: honcho\n  write_approval: true\n  user_profile_enabled: false\n",
    "memories/MEMORY.md": "a\n§\n\n§\nb",
    "memories/USER.md": "likes tea",
  })
  const clock = { now: () => 0, sleep: () => Promise.resolve() }
  stageWrite(home.home.file("pending", "memory"), { action: "add", target: "memory", content: "c" }, clock)
  const reason = "its entries are not separated by lines that hold only §"
  expect(await home.run(["memory", "status"])).toEqual({
    code: 0,
    out:
      `MEMORY.md  0% — 5/2,200 chars, MEMORY.md cannot be written at present: ${reason}\n` +
      "USER.md    0% — 9/1,375 chars, 1 entry (switched off)\nprovider   honcho (not installed)\n" +
      "approval   you are asked before every change\nwaiting    1 change; decide with /memory in a conversation\n",
    err: `${home.home.file("memories", "MEMORY.md")} is not in order: ${reason}.\n`,
  })
})

test("setup says that there is nothing to set up", async () => {
  using home = createTestHome()
  const why = "plugins bring them, and none is installed. MEMORY.md and USER.md work without one."
  expect(await home.run(["memory", "setup"])).toEqual({
    code: 1,
    out: "",
    err: expect.stringContaining(`There is no memory provider to set up: ${why}`),
  })
  expect((await home.run(["memory", "setup", "honcho"])).err).toContain(`There is no memory provider "honcho": ${why}`)
})

test("off takes the provider out and nothing else", async () => {
  using home = homeWith({ "config.yaml": "# mine\nmemory:\n  provider: honcho\n  nudge_interval: 3\n" })
  expect(await home.run(["memory", "off"])).toEqual({
    code: 0,
    out: "honcho is no longer used. MEMORY.md and USER.md stay as they are.\n",
    err: "",
  })
  expect(readFileSync(home.home.file("config.yaml"), "utf8")).toBe(
    '# mine\nmemory:\n  provider: ""\n  nudge_interval: 3\n',
  )
  expect((await home.run(["memory", "off"])).out).toBe(
    "No memory provider is in use, only MEMORY.md and USER.md.\n" +
      "To switch those off: hermes config set memory.memory_enabled false\n",
  )
})

test("reset removes what was named, after a yes", async () => {
  const files = { "memories/MEMORY.md": "a", "memories/USER.md": "b" }
  using home = homeWith(files)
  const left = (): readonly boolean[] => Object.keys(files).map((name) => existsSync(home.home.file(name)))
  expect((await home.run(["memory", "reset"])).code).toBe(1)
  expect((await home.run(["memory", "reset"], { answers: ["n"] })).out).toBe("Nothing was changed.\n")
  expect(left()).toEqual([true, true])
  expect(await home.run(["memory", "reset", "--target", "user", "-y"])).toEqual({
    code: 0,
    out: "Removed ~/.hermes/memories/USER.md. Conversations that are open still know what they were told.\n",
    err: "",
  })
  expect(left()).toEqual([true, false])
  expect((await home.run(["memory", "reset"], { answers: ["y"] })).code).toBe(0)
  expect(left()).toEqual([false, false])
})

test("reset of a home without memory, and of a place that cannot be removed", async () => {
  using home = createTestHome()
  expect((await home.run(["memory", "reset", "--yes"])).code).toBe(0)
  mkdirSync(home.home.file("memories", "MEMORY.md"), { recursive: true })
  expect(await home.run(["memory", "reset", "--yes"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("could not be removed: "),
  })
})
