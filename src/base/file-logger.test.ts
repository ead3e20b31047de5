import { execFile } from "node:child_process"
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterEach, beforeEach, expect, test } from "vitest"
import { createFileSink, createFileLogger } from "./file-logger.ts"

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "hermes-log-"))
})
afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

const read = (name: string): string => readFileSync(join(directory, name), "utf8")

test("nothing exists before the first line, then files are private", () => {
  const logs = join(directory, "deep", "logs")
  const log = createFileLogger({ directory: logs, redact: (text) => text })
  expect(existsSync(logs)).toBe(false)
  log.debug("below the level")
  expect(existsSync(logs)).toBe(false)
  log.info("hello")
  expect(readdirSync(logs)).toEqual(["agent.log"])
  log.error("bad")
  expect(statSync(join(logs, "agent.log")).mode & 0o777).toBe(0o600)
  expect(statSync(join(logs, "errors.log")).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(logs, "agent.log"), "utf8").trim().split("\n")).toHaveLength(2)
  expect(readFileSync(join(logs, "errors.log"), "utf8")).toMatch(/ ERROR hermes: bad\n$/)
})

test("a full file is renamed to .1, older ones to higher numbers, and the oldest is deleted", () => {
  const sink = createFileSink({ path: join(directory, "a.log"), level: "INFO", maxBytes: 10, backups: 2 })
  for (const line of ["one-----", "two-----", "three---", "four----"]) sink.write(line)
  expect(readdirSync(directory).toSorted()).toEqual(["a.log", "a.log.1", "a.log.2"])
  expect([read("a.log"), read("a.log.1"), read("a.log.2")]).toEqual(["four----\n", "three---\n", "two-----\n"])
})

test("a file that another process moved or removed is opened again", () => {
  const path = join(directory, "a.log")
  const sink = createFileSink({ path, level: "INFO", maxBytes: 1000, backups: 1 })
  sink.write("one")
  renameSync(path, `${path}.old`)
  sink.write("two")
  rmSync(path)
  sink.write("three")
  expect([read("a.log"), read("a.log.old")]).toEqual(["three\n", "one\n"])
})

test("a line over 64 KB is cut and marked", () => {
  const sink = createFileSink({ path: join(directory, "a.log"), level: "INFO", maxBytes: 1_000_000, backups: 1 })
  sink.write("é".repeat(50_000))
  const written = read("a.log")
  expect(Buffer.byteLength(written)).toBeLessThanOrEqual(64 * 1024)
  expect(written).toMatch(/^é+… \[cut, the line had 100001 bytes\]\n$/)
})

test("a held lock delays rotation, a stale one does not block it permanently", () => {
  const path = join(directory, "a.log")
  const sink = createFileSink({ path, level: "INFO", maxBytes: 5, backups: 1 })
  sink.write("one")
  writeFileSync(`${path}.lock`, "")
  sink.write("two")
  expect(read("a.log")).toBe("one\ntwo\n")
  utimesSync(`${path}.lock`, 1, 1)
  sink.write("three")
  sink.write("four")
  expect([read("a.log"), read("a.log.1")]).toEqual(["four\n", "one\ntwo\nthree\n"])
})

test("a log that cannot be written is silent, and works again later", () => {
  writeFileSync(join(directory, "logs"), "in the way")
  const sink = createFileSink({ path: join(directory, "logs", "a.log"), level: "INFO", maxBytes: 100, backups: 1 })
  sink.write("lost")
  rmSync(join(directory, "logs"))
  sink.write("kept")
  expect(read("logs/a.log")).toBe("kept\n")
})

test("several processes share one file and lose no line while it rotates", async () => {
  const script = join(directory, "writer.mjs")
  writeFileSync(
    script,
    `import { createFileSink } from ${JSON.stringify(new URL("./file-logger.ts", import.meta.url).href)}
     const sink = createFileSink({ path: process.argv[2], level: "INFO", maxBytes: 20_000, backups: 50 })
     for (let index = 0; index < 500; index += 1) sink.write(process.argv[3] + " line " + index + " " + "x".repeat(40))`,
  )
  const path = join(directory, "shared.log")
  const run = promisify(execFile)
  await Promise.all(["a", "b", "c"].map((name) => run(process.execPath, [script, path, name])))
  const lines = readdirSync(directory)
    .filter((name) => name.startsWith("shared.log"))
    .flatMap((name) => read(name).trimEnd().split("\n"))
  expect(new Set(lines).size).toBe(1500)
  expect(lines).toHaveLength(1500)
  expect(lines.every((line) => /^[abc] line \d+ x{40}$/.test(line))).toBe(true)
})
