import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterEach, beforeEach, expect, test } from "vitest"

import { readJsonLines, type JsonLine } from "./json-lines.ts"

let directory = ""
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "hermes-lines-"))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

async function read(content: string | Buffer): Promise<readonly JsonLine[]> {
  const path = join(directory, "x.jsonl")
  writeFileSync(path, content)
  return await Array.fromAsync(readJsonLines(path, { signal: new AbortController().signal }))
}

test("lines longer than a block, with characters across the border of two blocks", async () => {
  const text = `${"a".repeat(262_130)}→äöü😀${"b".repeat(600_000)}`
  expect(await read(`${JSON.stringify({ text })}\r\n\n${JSON.stringify({ n: 2 })}\n`)).toEqual([
    { kind: "object", number: 1, value: { text } },
    { kind: "object", number: 3, value: { n: 2 } },
  ])
})

test("damaged lines are reported; a last line without its end only when it is complete", async () => {
  const lines = '{"a":1}\n{"a":\n7\n\u0000\u0000\n'
  expect((await read(`${lines}{"b":2}`)).map(({ kind, number }) => `${number} ${kind}`)).toEqual([
    "1 object",
    "2 damaged",
    "3 damaged",
    "4 damaged",
    "5 object",
  ])
  expect((await read(`${lines}{"b":`)).map(({ number }) => number)).toEqual([1, 2, 3, 4])
  expect(await read("")).toEqual([])
})

test("reading stops when it is aborted", async () => {
  const path = join(directory, "x.jsonl")
  writeFileSync(path, '{"a":1}\n')
  await expect(Array.fromAsync(readJsonLines(path, { signal: AbortSignal.abort() }))).rejects.toThrow("aborted")
})
