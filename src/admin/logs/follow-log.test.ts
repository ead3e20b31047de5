import { appendFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { endOfLog } from "./log-files.ts"
import { followLog } from "./follow-log.ts"

let directory: string
let path: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "hermes-follow-"))
  path = join(directory, "a.log")
})
afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

/** Each sleep of `followLog` runs the next step; after the last step the signal aborts. */
async function follow(steps: readonly (() => void)[]): Promise<readonly string[]> {
  const stop = new AbortController()
  const left = [...steps]
  const clock = {
    now: () => 0,
    sleep: () => {
      const step = left.shift()
      if (step === undefined) stop.abort()
      else step()
      return Promise.resolve()
    },
  }
  const lines: string[] = []
  for await (const line of followLog(path, { clock, signal: stop.signal, from: endOfLog(path) })) lines.push(line)
  return lines
}

const rotate = (): void => {
  try {
    renameSync(`${path}.1`, `${path}.2`)
  } catch {
    // The first rotation finds no older part.
  }
  renameSync(path, `${path}.1`)
}

test("yields only new complete lines", async () => {
  writeFileSync(path, "before\n")
  const lines = await follow([
    () => appendFileSync(path, "one\ntw"),
    () => appendFileSync(path, "o\n"),
    () => appendFileSync(path, Buffer.from("é\n").subarray(0, 1)),
    () => appendFileSync(path, Buffer.from("é\n").subarray(1)),
  ])
  expect(lines).toEqual(["one", "two", "é"])
})

test("no line is lost between reading and following, and an incomplete line is not repeated", async () => {
  writeFileSync(path, "before\nha")
  const stop = new AbortController()
  const from = endOfLog(path)
  appendFileSync(path, "lf\n")
  rotate()
  writeFileSync(path, "next\n")
  const clock = { now: () => 0, sleep: () => Promise.resolve(stop.abort()) }
  const lines: string[] = []
  for await (const line of followLog(path, { clock, signal: stop.signal, from })) lines.push(line)
  expect(lines).toEqual(["half", "next"])
})

test("no line is lost by one rotation, or by two between two polls", async () => {
  writeFileSync(path, "")
  const lines = await follow([
    () => {
      appendFileSync(path, "a\n")
      rotate()
      writeFileSync(path, "b\n")
    },
    () => {
      appendFileSync(path, "c\n")
      rotate()
      writeFileSync(path, "d\n")
      rotate()
      writeFileSync(path, "e\n")
    },
    () => appendFileSync(path, "f\n"),
  ])
  expect(lines).toEqual(["a", "b", "c", "d", "e", "f"])
})

test("follows a file that was truncated, or deleted and created again", async () => {
  writeFileSync(path, "before\n")
  const lines = await follow([
    () => {
      truncateSync(path)
      appendFileSync(path, "a\n")
    },
    () => rmSync(path),
    () => writeFileSync(path, "b\n"),
  ])
  expect(lines).toEqual(["a", "b"])
})
