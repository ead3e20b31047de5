import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { fingerprint, sha256Hex } from "../../base/random-and-hash.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { checkLostRestrictions } from "./lost-restrictions.ts"

const TEXT = "model: {api_key: guessable}\napprovals: {profile: plan}\n"
const RESTRICTIONS = ["approvals.profile: plan", "terminal.sandbox: required"]

test("the record of an earlier version still counts, and its hashes get a salt", async () => {
  await using fixture = await temporaryHome()
  const home = resolveHome(environmentFrom(fixture.env))
  const path = home.file("cache", "rules", "config.yaml.json")
  const guessed = sha256Hex("model: {api_key: guessable}").slice(0, 16)
  const lines = TEXT.trimEnd()
    .split("\n")
    .map((line) => sha256Hex(line).slice(0, 16))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify({ print: fingerprint(TEXT), lines, restrictions: RESTRICTIONS }))
  const check = (text: string, restrictions: readonly string[]) =>
    checkLostRestrictions(home, { name: "config.yaml", text, restrictions }).ok
  const cut = TEXT.slice(0, TEXT.indexOf("approvals"))
  expect([check(cut, []), readFileSync(path, "utf8").includes(guessed)]).toEqual([false, true])
  expect([check(TEXT, RESTRICTIONS.slice(0, 1)), readFileSync(path, "utf8").includes(guessed)]).toEqual([true, false])
  expect([check(TEXT, RESTRICTIONS), check(cut, [])]).toEqual([true, false])
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ restrictions: RESTRICTIONS })
})
