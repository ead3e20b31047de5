import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterEach, beforeEach, expect, test } from "vitest"

import { systemClock } from "../../base/clock.ts"
import { openCandidateFile } from "./candidate-file.ts"
import type { LearningCandidate } from "./candidate-file.ts"

let home: string

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "candidates-"))
})

afterEach(() => {
  rmSync(home, { recursive: true })
})

const open = () =>
  openCandidateFile({ path: join(home, "candidates.json"), clock: systemClock, redact: (text) => text })

function candidate(id: string, more: Partial<LearningCandidate> = {}): LearningCandidate {
  const at = Math.floor(systemClock.now() / 1000)
  const text = "x".repeat(5000)
  const values = { command: text }
  return {
    id,
    session: "s",
    tool: "t",
    family: "f",
    error: text,
    words: text,
    values,
    argsHash: "",
    callsLeft: 5,
    at,
    ...more,
  }
}

test("what one process stores, another one reads", async () => {
  const [one, other] = [open(), open()]
  const short = candidate("a", { error: "e", words: "w", values: { command: "c" }, change: "d" })
  await one.update(() => [short])
  expect(other.read()).toEqual({ ok: true, value: [short] })
  await other.update((current) => [...current, { ...short, id: "b" }])
  expect(one.read()).toEqual({ ok: true, value: [short, { ...short, id: "b" }] })
  expect(statSync(join(home, "candidates.json")).mode & 0o777).toBe(0o600)
})

test("concurrent updates do not lose each other", async () => {
  const files = Array.from({ length: 8 }, open)
  await Promise.all(files.map((file, index) => file.update((current) => [...current, candidate(`c${index}`)])))
  const read = open().read()
  expect(read.ok && read.value.map(({ id }) => id).toSorted()).toEqual(files.map((_file, index) => `c${index}`))
})

test("it is bounded in number, length and age", async () => {
  const many = Array.from({ length: 500 }, (_one, index) => candidate(String(index)))
  await open().update(() => [...many, candidate("old", { at: 0 })])
  const read = open().read()
  expect(read.ok && [read.value.length, read.value.at(-1)?.id]).toEqual([200, "499"])
  expect(statSync(join(home, "candidates.json")).size).toBeLessThan(500_000)
})

test("without candidates there is no file", async () => {
  expect(await open().update(() => [])).toEqual({ ok: true, value: [] })
  expect(statSync(join(home, "candidates.json"), { throwIfNoEntry: false })).toBeUndefined()
})
