import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createNameLookup } from "./name-lookup.ts"

const NAMES = ["a", "b", "c", "missing", ".git", "link", "sub/x", "sub/y", "sub/z", "none/x", "none/y", "none/z", "a/x"]

test("is never false for a file that exists, and false for missing ones after a few look-ups", async () => {
  await using home = await temporaryHome()
  for (const name of ["a", "b", ".GIT", "ſub"]) writeFileSync(join(home.workdir, name), "")
  mkdirSync(join(home.workdir, "sub"))
  writeFileSync(join(home.workdir, "sub/x"), "")
  symlinkSync("nowhere", join(home.workdir, "link"))
  const mayExist = createNameLookup()
  const ask = (names: readonly string[]): readonly string[] =>
    names.filter((name) => mayExist(join(home.workdir, name)))
  for (let round = 0; round < 4; round += 1)
    expect(ask(NAMES)).toEqual(expect.arrayContaining(["a", "b", "sub/x", "link"]))
  // A file system without upper and lower case finds .GIT as .git; the caller's own look-up decides.
  expect(ask(NAMES)).toEqual(["a", "b", ".git", "link", "sub/x", "a/x"])
})

test("a new one sees what has changed", async () => {
  await using home = await temporaryHome()
  const path = join(home.workdir, "new")
  const ask = (): boolean => {
    const mayExist = createNameLookup()
    return Array.from({ length: 9 }, () => mayExist(path)).at(-1) ?? true
  }
  expect(ask()).toBe(false)
  writeFileSync(path, "")
  expect(ask()).toBe(true)
  rmSync(path)
  expect(ask()).toBe(false)
})
