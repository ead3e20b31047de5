import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

import { temporaryHome, type TemporaryHome } from "../../../test/support/temporary-home.ts"
import type { MemoryWrite } from "./memory-edit.ts"
import { memoryPaths } from "./memory-file.ts"
import { createMemoryStore, type MemoryStore } from "./memory-store.ts"
import { applyStagedWrite, discardStagedWrite, listStagedWrites, stageWrite } from "./staged-writes.ts"

let now = 1_700_000_000_000
const clock = { now: () => (now += 1000), sleep: () => Promise.resolve() }

function storeIn(home: TemporaryHome): MemoryStore {
  const { memoryPath, userPath } = memoryPaths(home.path)
  return createMemoryStore({ memoryPath, userPath, limits: { memory: 100, user: 100 }, clock })
}

function staged(directory: string, write: MemoryWrite): string {
  const result = stageWrite(directory, write, clock)
  if (!result.ok) throw new Error(result.error)
  return result.value
}

const WRITES: readonly MemoryWrite[] = [
  { action: "add", target: "user", content: "likes tea" },
  { action: "replace", target: "memory", oldText: "npm", content: "uses pnpm" },
  { action: "remove", target: "memory", oldText: "old" },
]

test("each write is staged in its own file and applied once", async () => {
  await using home = await temporaryHome({ files: { "memories/MEMORY.md": "uses npm\n§\nold fact" } })
  const { stagingPath, memoryPath, userPath } = memoryPaths(home.path)
  const ids = WRITES.map((write) => staged(stagingPath, write))
  expect(listStagedWrites(stagingPath).map(({ id, write }) => ({ id, write }))).toEqual(
    WRITES.map((write, index) => ({ id: ids[index], write })),
  )
  expect(JSON.parse(readFileSync(join(stagingPath, `${ids[1]}.json`), "utf8"))).toEqual({
    id: ids[1],
    created_at: expect.stringMatching(/^2023-11-14T/),
    action: "replace",
    target: "memory",
    content: "uses pnpm",
    old_text: "npm",
  })
  const store = storeIn(home)
  for (const id of ids) expect(await applyStagedWrite(stagingPath, id, store)).toMatchObject({ kind: "done" })
  expect([readFileSync(memoryPath, "utf8"), readFileSync(userPath, "utf8"), listStagedWrites(stagingPath)]).toEqual([
    "uses pnpm",
    "likes tea",
    [],
  ])
  expect(await applyStagedWrite(stagingPath, ids[0]!, store)).toEqual({
    kind: "refused",
    error: `there is no staged change with the id ${ids[0]}`,
  })
})

test("a write that the store refuses stays staged", async () => {
  await using home = await temporaryHome()
  const { stagingPath } = memoryPaths(home.path)
  const id = staged(stagingPath, { action: "remove", target: "memory", oldText: "gone" })
  expect(await applyStagedWrite(stagingPath, id, storeIn(home))).toMatchObject({ kind: "refused" })
  expect(listStagedWrites(stagingPath)).toHaveLength(1)
  expect([discardStagedWrite(stagingPath, id), discardStagedWrite(stagingPath, id)]).toEqual([true, false])
})

test("ids cannot point to other directories, and invalid files are ignored and kept", async () => {
  await using home = await temporaryHome({
    files: {
      "pending/memory/a.json": "{",
      "pending/memory/b.json": '{"action":"add","target":"other","content":"x"}',
      "pending/memory/c.json": '{"action":"replace","target":"user","content":"x"}',
      "pending/memory/d.json": '{"action":"replace","target":"user","old_text":"x"}',
      "pending/memory/notes.txt": "",
      "pending/other.json": '{"action":"add","target":"user","content":"x"}',
    },
  })
  const { stagingPath } = memoryPaths(home.path)
  expect(listStagedWrites(stagingPath)).toEqual([])
  expect([discardStagedWrite(stagingPath, "../other"), discardStagedWrite(stagingPath, "a")]).toEqual([false, false])
  expect(await applyStagedWrite(stagingPath, "../other", storeIn(home))).toMatchObject({ kind: "refused" })
  expect(existsSync(join(home.path, "pending/other.json"))).toBe(true)
})

test("without a directory nothing is staged; a directory that cannot be created and too many writes are refused", async () => {
  await using home = await temporaryHome({ files: { pending: "a file" } })
  const { stagingPath } = memoryPaths(home.path)
  expect(listStagedWrites(stagingPath)).toEqual([])
  expect(stageWrite(stagingPath, WRITES[0]!, clock)).toEqual({
    ok: false,
    error: expect.stringMatching(/^the change could not be staged for approval: /),
  })
  const full = join(home.path, "full")
  staged(full, WRITES[0]!)
  for (let index = 0; index < 199; index += 1) writeFileSync(join(full, `x${index}.json`), "{}")
  expect(stageWrite(full, WRITES[0]!, clock)).toEqual({
    ok: false,
    error: "200 changes already wait for approval; the user can review them with /memory",
  })
})
