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

function storeIn(place: TemporaryHome): MemoryStore {
  const { memoryPath, userPath } = memoryPaths(place.path)
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

test("writes wait in files of their own and are applied once", async () => {
  await using place = await temporaryHome({ files: { "memories/MEMORY.md": "uses npm\n§\nold fact" } })
  const { stagingPath, memoryPath, userPath } = memoryPaths(place.path)
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
  const store = storeIn(place)
  for (const id of ids) expect(await applyStagedWrite(stagingPath, id, store)).toMatchObject({ kind: "done" })
  expect([readFileSync(memoryPath, "utf8"), readFileSync(userPath, "utf8"), listStagedWrites(stagingPath)]).toEqual([
    "uses pnpm",
    "likes tea",
    [],
  ])
  expect(await applyStagedWrite(stagingPath, ids[0]!, store)).toEqual({
    kind: "refused",
    error: `no change with the id ${ids[0]} waits`,
  })
})

test("a write that the store refuses goes on waiting", async () => {
  await using place = await temporaryHome()
  const { stagingPath } = memoryPaths(place.path)
  const id = staged(stagingPath, { action: "remove", target: "memory", oldText: "gone" })
  expect(await applyStagedWrite(stagingPath, id, storeIn(place))).toMatchObject({ kind: "refused" })
  expect(listStagedWrites(stagingPath)).toHaveLength(1)
  expect([discardStagedWrite(stagingPath, id), discardStagedWrite(stagingPath, id)]).toEqual([true, false])
})

test("ids cannot name files elsewhere, and what is no staged write is left out and kept", async () => {
  await using place = await temporaryHome({
    files: {
      "pending/memory/a.json": "{",
      "pending/memory/b.json": '{"action":"add","target":"other","content":"x"}',
      "pending/memory/c.json": '{"action":"replace","target":"user","content":"x"}',
      "pending/memory/d.json": '{"action":"replace","target":"user","old_text":"x"}',
      "pending/memory/notes.txt": "",
      "pending/other.json": '{"action":"add","target":"user","content":"x"}',
    },
  })
  const { stagingPath } = memoryPaths(place.path)
  expect(listStagedWrites(stagingPath)).toEqual([])
  expect([discardStagedWrite(stagingPath, "../other"), discardStagedWrite(stagingPath, "a")]).toEqual([false, false])
  expect(await applyStagedWrite(stagingPath, "../other", storeIn(place))).toMatchObject({ kind: "refused" })
  expect(existsSync(join(place.path, "pending/other.json"))).toBe(true)
})

test("no folder means nothing waits; a folder that cannot be made, and too many writes, are refused", async () => {
  await using place = await temporaryHome({ files: { pending: "a file" } })
  const { stagingPath } = memoryPaths(place.path)
  expect(listStagedWrites(stagingPath)).toEqual([])
  expect(stageWrite(stagingPath, WRITES[0]!, clock)).toEqual({
    ok: false,
    error: expect.stringMatching(/^the change could not be kept for the person: /),
  })
  const full = join(place.path, "full")
  staged(full, WRITES[0]!)
  for (let index = 0; index < 199; index += 1) writeFileSync(join(full, `x${index}.json`), "{}")
  expect(stageWrite(full, WRITES[0]!, clock)).toEqual({
    ok: false,
    error: "200 changes already wait for the person; they can decide with /memory",
  })
})
