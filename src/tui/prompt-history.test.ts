import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { createCliHome } from "../../test/support/cli-home.ts"
import { systemClock } from "../base/clock.ts"
import { openPromptHistory } from "./prompt-history.ts"

function openIn(directory: string) {
  const path = join(directory, ".hermes_history")
  const failures: unknown[] = []
  const open = () =>
    openPromptHistory({
      path,
      redact: (text) => text.replaceAll("secret", "***"),
      clock: systemClock,
      failed: (error) => failures.push(error),
    })
  return { path, open, failures }
}

test("entries survive in the format of the Python edition", () => {
  using home = createCliHome()
  const { path, open } = openIn(home.directory)
  const history = open()
  for (const text of ["one", "two\n\nlines", "two\n\nlines", " not this", "", "my secret"]) history.add(text)
  expect(history.entries()).toEqual(["one", "two\n\nlines", "my ***"])
  expect(open().entries()).toEqual(history.entries())
  expect(readFileSync(path, "utf8")).toMatch(
    /^\n# \d{4}-\d\d-\d\d [\d:.]+\n\+one\n\n# [\d\-:. ]+\n\+two\n\+\n\+lines\n\n/,
  )
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test("two conversations append to the same file", () => {
  using home = createCliHome()
  const { open } = openIn(home.directory)
  const [first, second] = [open(), open()]
  first.add("one")
  second.add("two")
  first.add("three")
  expect(open().entries()).toEqual(["one", "two", "three"])
})

test("a file that others can read is closed to them", () => {
  using home = createCliHome()
  const { path, open } = openIn(home.directory)
  writeFileSync(path, "\n# 2025-01-01\n+old\n")
  chmodSync(path, 0o644)
  expect(open().entries()).toEqual(["old"])
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test("a large file is shortened, and entries are limited", () => {
  using home = createCliHome()
  const { path, open } = openIn(home.directory)
  writeFileSync(path, Array.from({ length: 3000 }, (_, index) => `\n# t\n+${index} ${"x".repeat(600)}\n`).join(""))
  const entries = open().entries()
  expect([entries.length <= 1000, entries.at(-1)?.startsWith("2999 ")]).toEqual([true, true])
  expect(statSync(path).size).toBeLessThan(600_000)
  const history = open()
  history.add("y".repeat(50_000))
  expect(history.entries().at(-1)).toHaveLength(20_000)
})

test("a history that cannot be written is reported once and does not stop the conversation", () => {
  using home = createCliHome()
  const { path, open, failures } = openIn(home.directory)
  mkdirSync(path)
  const history = open()
  history.add("one")
  history.add("two")
  expect([history.entries(), failures.length]).toEqual([["one", "two"], 1])
})
