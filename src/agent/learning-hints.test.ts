import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterEach, beforeEach, expect, test } from "vitest"

import { measureHints } from "../../test/fixtures/knowledge/measure-hints.ts"
import { KNOWN_ERRORS, UNRELATED_ERRORS } from "../../test/fixtures/knowledge/error-corpus.ts"

let home: string

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "learning-hints-"))
})

afterEach(() => {
  rmSync(home, { recursive: true })
})

test("unrelated errors get no hint, other reports of a known error get the right one", async () => {
  expect(KNOWN_ERRORS.length + UNRELATED_ERRORS.length).toBeGreaterThanOrEqual(60)
  const { unrelated, paraphrases, wrong, missed } = await measureHints(join(home, "learnings.jsonl"))
  expect(unrelated + paraphrases).toBeGreaterThanOrEqual(150)
  const right = paraphrases - missed.length
  expect(right / (right + wrong.length)).toBeGreaterThan(0.95)
  expect(1 - wrong.length / unrelated).toBeGreaterThan(0.95)
  expect(right / paraphrases).toBeGreaterThan(0.85)
})
