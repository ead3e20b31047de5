import { execFileSync } from "node:child_process"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { readRegularText } from "./regular-file.ts"

test("reads a regular file up to a limit, and nothing that has to be waited for", async () => {
  await using home = await temporaryHome()
  const at = (name: string): string => join(home.workdir, name)
  writeFileSync(at("text"), "ü\n")
  symlinkSync("text", at("link"))
  mkdirSync(at("directory"))
  execFileSync("mkfifo", [at("pipe")])
  symlinkSync("pipe", at("link-to-pipe"))
  symlinkSync("/dev/zero", at("device"))
  symlinkSync("nowhere", at("dangling"))
  symlinkSync("loop", at("loop"))
  expect(["text", "link"].map((name) => readRegularText(at(name)))).toEqual(["ü\n", "ü\n"])
  expect(readRegularText(at("text"), { encoding: "latin1" })).toBe("\u00C3\u00BC\n")
  expect(readRegularText(at("text"), { maxBytes: 2 })).toBeUndefined()
  const others = [
    "directory",
    "pipe",
    "link-to-pipe",
    "device",
    "dangling",
    "loop",
    "none",
    "text/below",
    "x".repeat(5000),
  ]
  expect(others.filter((name) => readRegularText(at(name)) !== undefined)).toEqual([])
})
