import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterAll, beforeAll, expect, test } from "vitest"

import { createFakeCommand } from "../../test/support/fake-command.ts"
import { listFilesBelow } from "./list-files.ts"

const PATH = process.env["PATH"] ?? ""
const directory = mkdtempSync(join(tmpdir(), "hermes-list-files-"))
const signal = new AbortController().signal

beforeAll(() => {
  mkdirSync(join(directory, "src"))
  mkdirSync(join(directory, ".git"))
  for (const name of ["b.ts", "src/日本.ts", "ignored.log", ".git/config"]) writeFileSync(join(directory, name), "")
  writeFileSync(join(directory, ".ignore"), "*.log\n")
})

afterAll(() => rmSync(directory, { recursive: true, force: true }))

test("ripgrep lists the files, without reading its configuration, and is stopped at the limit", async () => {
  const rg = createFakeCommand(
    directory,
    "rg",
    `printf 'b.ts\\0src/日本.ts\\0'; while [ -e '${directory}/endless' ]; do printf 'x\\0'; done`,
  )
  const options = { environment: { PATH }, signal, find: (name: string) => join(rg.directory, name) }
  expect(await listFilesBelow(directory, { ...options, limit: 100 })).toEqual(["b.ts", "src/日本.ts"])
  expect(rg.calls()[0]?.slice(0, 2)).toEqual(["--no-config", "--files"])
  writeFileSync(join(directory, "endless"), "")
  expect(await listFilesBelow(directory, { ...options, limit: 10 })).toHaveLength(10)
  rmSync(join(directory, "endless"))
  rmSync(rg.directory, { recursive: true })
  // It cannot be started: the directories are read instead.
  expect(await listFilesBelow(directory, { ...options, limit: 100 })).toContain("ignored.log")
})

test("without ripgrep, and never more than the limit", async () => {
  const environment = { PATH: "/nowhere" }
  expect(await listFilesBelow(directory, { environment, limit: 100, signal })).toEqual([
    ".ignore",
    "b.ts",
    "ignored.log",
    "src/日本.ts",
  ])
  expect(await listFilesBelow(directory, { environment, limit: 2, signal })).toHaveLength(2)
  expect(await listFilesBelow(join(directory, "missing"), { environment, limit: 2, signal })).toEqual([])
})
