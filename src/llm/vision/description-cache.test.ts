import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { keepDescription, readDescription } from "./description-cache.ts"

const ENVIRONMENT = environmentFrom({})

test("only the newest are kept", async () => {
  await using place = await temporaryHome()
  const home = homeAt(place.path, ENVIRONMENT)
  for (let index = 0; index < 502; index += 1) keepDescription(home, `k${index}`, `t${index}`)
  keepDescription(home, "k400", "again")
  const found = ["k1", "k2", "k400", "k501", "never"].map((key) => readDescription(home, key))
  expect(found).toEqual([undefined, "t2", "again", "t501", undefined])
})

test.each(["{", "[]", '{"k":1}'])("a file with %s in it is as good as none, and is replaced", async (text) => {
  await using place = await temporaryHome()
  const home = homeAt(place.path, ENVIRONMENT)
  mkdirSync(join(place.path, "cache"))
  const path = join(place.path, "cache", "image_descriptions.json")
  writeFileSync(path, text)
  expect(readDescription(home, "k")).toBeUndefined()
  keepDescription(home, "k", "t")
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ k: "t" })
})

test("a home that cannot be written to is no failure", async () => {
  await using place = await temporaryHome({ files: { cache: "a file where the folder should be" } })
  const home = homeAt(place.path, ENVIRONMENT)
  keepDescription(home, "k", "t")
  expect(readDescription(home, "k")).toBeUndefined()
})
