import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { saveDescription, readImageDescription } from "./description-cache.ts"

const ENVIRONMENT = environmentFrom({})

test("only the newest are kept", async () => {
  await using directory = await temporaryHome()
  const home = homeAt(directory.path, ENVIRONMENT)
  for (let index = 0; index < 502; index += 1) saveDescription(home, `k${index}`, `t${index}`)
  saveDescription(home, "k400", "again")
  const found = ["k1", "k2", "k400", "k501", "never"].map((key) => readImageDescription(home, key))
  expect(found).toEqual([undefined, "t2", "again", "t501", undefined])
})

test.each(["{", "[]", '{"k":1}'])("a file that contains %s is ignored and replaced", async (text) => {
  await using directory = await temporaryHome()
  const home = homeAt(directory.path, ENVIRONMENT)
  mkdirSync(join(directory.path, "cache"))
  const path = join(directory.path, "cache", "image_descriptions.json")
  writeFileSync(path, text)
  expect(readImageDescription(home, "k")).toBeUndefined()
  saveDescription(home, "k", "t")
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ k: "t" })
})

test("a read-only home is not an error", async () => {
  await using directory = await temporaryHome({ files: { cache: "a file where the directory should be" } })
  const home = homeAt(directory.path, ENVIRONMENT)
  saveDescription(home, "k", "t")
  expect(readImageDescription(home, "k")).toBeUndefined()
})
