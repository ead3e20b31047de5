import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../test/fixtures/state/temporary-store.ts"
import { keepNumberedCopy, unusedPath } from "./kept-copies.ts"

test("each copy gets its own name; the first and the newest stay", () => {
  using folder = temporaryDirectory()
  const path = join(folder.path, "auth.json.corrupt")
  const kept = (text: string): string => basename(keepNumberedCopy(Buffer.from(text), path))
  expect([kept("one"), kept("two"), kept("one")]).toEqual([
    "auth.json.corrupt",
    "auth.json.corrupt-2",
    "auth.json.corrupt",
  ])
  for (let number = 3; number <= 12; number += 1) expect(kept(`copy ${number}`)).toBe(`auth.json.corrupt-${number}`)
  expect(readdirSync(folder.path).toSorted()).toEqual([
    "auth.json.corrupt",
    "auth.json.corrupt-10",
    "auth.json.corrupt-11",
    "auth.json.corrupt-12",
    "auth.json.corrupt-9",
  ])
  expect(readFileSync(path, "utf8")).toBe("one")
})

test("a name that is taken gets a number before its extension", () => {
  using folder = temporaryDirectory()
  const path = join(folder.path, "backup")
  writeFileSync(`${path}.zip`, "")
  expect(basename(unusedPath(path, ".zip"))).toBe("backup-2.zip")
  expect(unusedPath(path)).toBe(path)
})
