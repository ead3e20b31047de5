import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { CLOCK_TICK_MS } from "./time-of-change.ts"
import { namesIn, readDirectoryNames, rememberedNames } from "./directory-names.ts"

/** Until the times of its files are old enough to tell a later change. */
const settled = (): Promise<void> => setTimeout(2 * CLOCK_TICK_MS)

test("the names of a directory are remembered until anything in it changes", async () => {
  await using home = await temporaryHome()
  const directory = join(home.workdir, "d")
  mkdirSync(directory)
  writeFileSync(join(directory, "one"), "")
  const changes: readonly (() => void)[] = [
    () => writeFileSync(join(directory, "two"), ""),
    () => renameSync(join(directory, "two"), join(directory, "three")),
    () => rmSync(join(directory, "three")),
    () => symlinkSync("nowhere", join(directory, "link")),
    () => mkdirSync(join(directory, "sub")),
    () => chmodSync(directory, 0o755),
  ]
  for (const change of changes) {
    await settled()
    const names = readDirectoryNames(directory)
    expect(rememberedNames(directory)).toBe(names)
    change()
    expect(rememberedNames(directory)).toBeUndefined()
  }
  expect(namesIn(directory).toSorted()).toEqual(["link", "one", "sub"])
})

test("a directory that has just changed is not remembered: the next change may have the same time", async () => {
  await using home = await temporaryHome()
  for (let round = 0; round < 50; round += 1) {
    writeFileSync(join(home.workdir, `file-${round}`), "")
    expect(namesIn(home.workdir)).toContain(`file-${round}`)
  }
})

test("another directory with the same path is read again, also behind a link", async () => {
  await using home = await temporaryHome()
  const link = join(home.workdir, "link")
  const target = join(home.workdir, "second")
  for (const directory of [join(home.workdir, "first"), target]) mkdirSync(directory)
  writeFileSync(join(target, "inside"), "")
  symlinkSync("first", link)
  await settled()
  expect(namesIn(link)).toEqual([])
  rmSync(link)
  symlinkSync("second", link)
  expect(namesIn(link)).toEqual(["inside"])
  rmSync(target, { recursive: true })
  expect([namesIn(link), readDirectoryNames(link)]).toEqual([[], undefined])
})

test("names that differ in upper and lower case only are both there", async () => {
  await using home = await temporaryHome()
  for (const name of [".SSH", ".ssh"]) mkdirSync(join(home.workdir, name), { recursive: true })
  expect(namesIn(home.workdir)).toEqual(expect.arrayContaining([".SSH", ".ssh"]))
})
