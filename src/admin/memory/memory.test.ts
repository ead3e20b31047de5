import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { stageWrite } from "../../knowledge/memory/staged-writes.ts"
import { memoryFilePaths, memoryStatus, resetMemory, turnOffMemoryProvider } from "./memory.ts"

test("status has the files, the memory provider, the approval setting and the pending changes", async () => {
  using context = createTestHomeContext({
    "config.yaml": "memory:\n  provider: honcho\n  write_approval: true\n  user_profile_enabled: false\n",
    "memories/MEMORY.md": "a\n§\nb",
    "memories/USER.md": "likes tea",
  })
  const write = { action: "add", target: "memory", content: "c" } as const
  stageWrite(context.home.file("pending", "memory"), write, context.clock)
  expect(await memoryStatus(context)).toEqual({
    files: [
      { target: "memory", enabled: true, content: expect.objectContaining({ message: "2 entries" }) },
      { target: "user", enabled: false, content: expect.objectContaining({ message: "1 entry" }) },
    ],
    memoryProvider: "honcho",
    writeApproval: true,
    stagedWrites: 1,
    notices: [],
  })
})

test("a file in the wrong format has a notice", async () => {
  using context = createTestHomeContext({ "memories/MEMORY.md": "a\n§\n\n§\nb" })
  expect((await memoryStatus(context)).notices).toEqual([
    expect.stringContaining(context.home.file("memories", "MEMORY.md")),
  ])
})

test("turning off removes the memory provider from config.yaml and nothing else", async () => {
  using context = createTestHomeContext({
    "config.yaml": "# mine\nmemory:\n  provider: honcho\n  nudge_interval: 3\n",
  })
  expect(await turnOffMemoryProvider(context)).toEqual({ ok: true, value: "honcho" })
  expect(readFileSync(context.home.file("config.yaml"), "utf8")).toBe(
    '# mine\nmemory:\n  provider: ""\n  nudge_interval: 3\n',
  )
  expect(await turnOffMemoryProvider(context)).toEqual({ ok: true, value: undefined })
})

test("reset deletes the chosen files, and reports a path that cannot be deleted", async () => {
  using context = createTestHomeContext({ "memories/MEMORY.md": "a", "memories/USER.md": "b" })
  const { home } = context
  expect(await resetMemory(memoryFilePaths(context, "user"))).toEqual({ ok: true, value: undefined })
  expect([existsSync(home.file("memories/MEMORY.md")), existsSync(home.file("memories/USER.md"))]).toEqual([
    true,
    false,
  ])
  expect((await resetMemory(memoryFilePaths(context, "all"))).ok).toBe(true)
  expect(existsSync(home.file("memories/MEMORY.md"))).toBe(false)
  mkdirSync(home.file("memories/MEMORY.md"))
  expect(await resetMemory(memoryFilePaths(context, "all"))).toMatchObject({ ok: false, error: { kind: "failed" } })
})
