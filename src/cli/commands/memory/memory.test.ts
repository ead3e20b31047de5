import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"

import { createCliHome, type CliHome } from "../../../../test/support/cli-home.ts"
import { stageWrite } from "../../../knowledge/memory/staged-writes.ts"

function homeWith(files: Readonly<Record<string, string>>): CliHome {
  const home = createCliHome()
  mkdirSync(home.home.file("memories"), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(home.home.file(name), text)
  return home
}

test("an empty home", async () => {
  using home = createCliHome()
  expect(await home.run(["memory"])).toEqual({
    code: 0,
    out:
      "MEMORY.md  0% — 0/2,200 chars, 0 entries\nUSER.md    0% — 0/1,375 chars, 0 entries\n" +
      "provider   none, only the two files are used\napproval   not needed\nwaiting    nothing\n",
    err: "",
  })
})

test("status shows files, memory provider, approval, waiting changes and problems", async () => {
  using home = homeWith({
    "config.yaml": "memory:\n  provider: honcho\n  write_approval: true\n  user_profile_enabled: false\n",
    "memories/MEMORY.md": "a\n§\n\n§\nb",
    "memories/USER.md": "likes tea",
  })
  const clock = { now: () => 0, sleep: () => Promise.resolve() }
  stageWrite(home.home.file("pending", "memory"), { action: "add", target: "memory", content: "c" }, clock)
  expect(await home.run(["memory", "status"])).toEqual({
    code: 0,
    out: expect.stringMatching(
      /^MEMORY\.md {2}0% — 5\/2,200 chars, MEMORY\.md cannot be written.*\n {2}- a\n {2}- b\nUSER\.md {4}0% — 9\/1,375 chars, 1 entry \(turned off\)\n {2}- likes tea\nprovider {3}honcho \(not installed\)\napproval {3}you are asked before every change\nwaiting {4}1 change; decide with \/memory in a conversation\n$/,
    ),
    err: expect.stringContaining(home.home.file("memories", "MEMORY.md")),
  })
})

test("setup reports that there is nothing to set up", async () => {
  using home = createCliHome()
  const reason = "plugins provide them, and none is installed. MEMORY.md and USER.md work without one."
  expect(await home.run(["memory", "setup"])).toEqual({
    code: 1,
    out: "",
    err: expect.stringContaining(`There is no memory provider to set up: ${reason}`),
  })
  expect((await home.run(["memory", "setup", "honcho"])).err).toContain(
    `There is no memory provider "honcho": ${reason}`,
  )
})

test("the question ends with [y/N] once", async () => {
  using home = homeWith({ "memories/MEMORY.md": "a" })
  const { err } = await home.run(["memory", "reset"], { answers: ["n"] })
  expect(err).toMatch(/^Delete .* permanently\?$/)
})

test("off removes the memory provider from config.yaml and nothing else", async () => {
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
      "To turn those off: hermes config set memory.memory_enabled false\n",
  )
})

test("reset deletes the named file after confirmation", async () => {
  const files = { "memories/MEMORY.md": "a", "memories/USER.md": "b" }
  using home = homeWith(files)
  const left = (): readonly boolean[] => Object.keys(files).map((name) => existsSync(home.home.file(name)))
  expect((await home.run(["memory", "reset"])).code).toBe(1)
  expect((await home.run(["memory", "reset"], { answers: ["n"] })).out).toBe("Nothing was changed.\n")
  expect(left()).toEqual([true, true])
  expect(await home.run(["memory", "reset", "--target", "user", "-y"])).toEqual({
    code: 0,
    out: "Deleted ~/.hermes/memories/USER.md. Open conversations keep the memory they started with.\n",
    err: "",
  })
  expect(left()).toEqual([true, false])
  expect((await home.run(["memory", "reset"], { answers: ["y"] })).code).toBe(0)
  expect(left()).toEqual([false, false])
})

test("reset succeeds without memory files, and fails for a path that cannot be deleted", async () => {
  using home = createCliHome()
  expect(await home.run(["memory", "reset", "--yes"])).toMatchObject({
    code: 0,
    out: "There is no memory to delete.\n",
  })
  mkdirSync(home.home.file("memories", "MEMORY.md"), { recursive: true })
  expect(await home.run(["memory", "reset", "--yes"])).toMatchObject({
    code: 1,
    err: expect.stringContaining(home.home.file("memories", "MEMORY.md")),
  })
})
