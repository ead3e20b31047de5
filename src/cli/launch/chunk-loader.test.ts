import {
  existsSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterEach, beforeEach, expect, test } from "vitest"

import { runProcess } from "../../../test/support/process-driver.ts"
import { freeCompilerMemoryAtOnce } from "../../base/engine-memory.ts"
import { createChunkLoader } from "./chunk-loader.ts"

const FIRST = `const other=require("./other-1.js");exports.twice=()=>other.value*2;exports.spawn=()=>require("node:child_process").spawn`
const OTHER = `exports.value=21;exports.where=[__filename,__dirname]`

let root = ""
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "hermes-chunks-"))
  mkdirSync(join(root, "chunks"))
  mkdirSync(join(root, "home"))
  writeFileSync(join(root, "chunks/first-1.js"), FIRST)
  writeFileSync(join(root, "chunks/other-1.js"), OTHER)
})
afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

const loader = (cache: string | undefined = join(root, "home/code")) =>
  createChunkLoader({
    directory: `${root}/chunks/`,
    cacheDirectory: cache,
    require: createRequire(import.meta.filename),
  })
const files = () => readdirSync(join(root, "home/code")).filter((name) => !name.startsWith("starting-"))
const stored = () => files().map((name) => name.split(".")[0])
const changed = () => files().map((name) => statSync(join(root, "home/code", name)).mtimeMs)

/** Loads a chunk, calls it and saves, as a process does. Returns the result of the call. */
function run(cache?: string): unknown {
  const { load, save, finishStart } = loader(cache)
  const { twice } = load("./first-1.js")
  const result: unknown = typeof twice === "function" ? twice() : undefined
  save()
  finishStart()
  return result
}

test("loads the chunks and modules that a chunk requires", () => {
  const { load } = loader()
  expect(load("./other-1.js")).toEqual({ value: 21, where: [`${root}/chunks/other-1.js`, `${root}/chunks`] })
  expect(load("./other-1.js")).toBe(load("./other-1.js"))
  expect(typeof load("node:path")["join"]).toBe("function")
  expect(typeof (load("./first-1.js")["spawn"] as () => unknown)()).toBe("function")
})

test("caches compiled code once, and later runs use it", () => {
  expect(run()).toBe(42)
  expect(stored()).toEqual(["first-1", "other-1"])
  const before = changed()
  expect(run()).toBe(42)
  expect(changed()).toEqual(before)
})

test.each(["rubbish", ""])("replaces damaged cache files (%j)", async (damage) => {
  // Separate processes, because V8 remembers compiled code within one.
  const script = `
    import { createChunkLoader } from ${JSON.stringify(join(import.meta.dirname, "chunk-loader.ts"))}
    const { load, save } = createChunkLoader({ directory: ${JSON.stringify(`${root}/chunks/`)}, cacheDirectory: ${JSON.stringify(join(root, "home/code"))}, require })
    process.stdout.write(String(load("./first-1.js").twice()))
    save()`
  const runInProcess = async () =>
    await runProcess({
      command: process.execPath,
      args: [
        "--input-type=module",
        "-e",
        `import { createRequire } from "node:module"; const require = createRequire("/");${script}`,
      ],
      env: { PATH: process.env["PATH"] ?? "" },
    })
  expect((await runInProcess()).stdout).toBe("42")
  const file = join(root, "home/code", readdirSync(join(root, "home/code"))[0] ?? "")
  const good = readFileSync(file).length
  writeFileSync(file, damage)
  expect((await runInProcess()).stdout).toBe("42")
  expect(readFileSync(file).length).toBe(good)
})

test("ignores a cache directory that others can write to", () => {
  const open = join(root, "home/code")
  mkdirSync(open)
  chmodSync(open, 0o777)
  expect([run(), readdirSync(open)]).toEqual([42, []])
})

test("refreshes the cache after an hour", () => {
  run()
  const directory = join(root, "home/code")
  const past = new Date(Date.now() - 3_700_000)
  for (const name of files()) utimesSync(join(directory, name), past, past)
  expect(run()).toBe(42)
  expect(changed().every((at) => Date.now() - at < 60_000)).toBe(true)
})

test.each([
  ["of a process that died", "999999999", 0, []],
  ["that never ended", String(process.pid), 120_000, []],
  ["of a running process", String(process.ppid), 0, ["first-1", "other-1"]],
])("a start %s: %s", (_name, pid, age, kept) => {
  run()
  const marker = join(root, "home/code", `starting-${pid}`)
  writeFileSync(marker, "")
  const at = new Date(Date.now() - age)
  utimesSync(marker, at, at)
  loader()
  expect(stored()).toEqual(kept)
})

test("a start leaves its mark until it has finished", () => {
  run()
  const marks = () => readdirSync(join(root, "home/code")).filter((name) => name.startsWith("starting-"))
  expect(marks()).toEqual([])
  const { finishStart } = loader()
  expect(marks()).toEqual([`starting-${process.pid}`])
  finishStart()
  expect(marks()).toEqual([])
})

test("a chunk that throws, throws on every load", () => {
  writeFileSync(join(root, "chunks/bad-1.js"), "exports.half=1;throw new Error('no')")
  const { load } = loader()
  expect(() => load("./bad-1.js")).toThrow("no")
  expect(() => load("./bad-1.js")).toThrow("no")
})

test("keeps only the newest files", () => {
  const directory = join(root, "home/code")
  mkdirSync(directory)
  const past = new Date(Date.now() - 10_000_000)
  for (let number = 0; number < 550; number += 1) {
    writeFileSync(join(directory, `old-${number}.js`), "")
    utimesSync(join(directory, `old-${number}.js`), past, past)
  }
  run()
  expect([stored().length > 490, stored().length <= 500]).toEqual([true, true])
  expect(stored()).toEqual(expect.arrayContaining(["first-1", "other-1"]))
})

test("does not create a missing home, and works without a cache directory", () => {
  rmSync(join(root, "home"), { recursive: true })
  expect(run()).toBe(42)
  expect(readdirSync(root)).toEqual(["chunks"])
  const { load, save } = createChunkLoader({
    directory: `${root}/chunks/`,
    cacheDirectory: undefined,
    require: createRequire(import.meta.filename),
  })
  load("./first-1.js")
  save()
  expect(readdirSync(root)).toEqual(["chunks"])
})

// The last one, because it changes this process.
test("stores nothing after the flags of V8 have changed: the next start would reject it", () => {
  freeCompilerMemoryAtOnce()
  expect(run()).toBe(42)
  expect(existsSync(join(root, "home/code"))).toBe(false)
})
