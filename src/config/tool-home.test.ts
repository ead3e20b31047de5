import { mkdirSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import { environmentFrom } from "./environment.ts"
import { homeAt } from "./home.ts"
import { toolHome } from "./tool-home.ts"

test.each([
  ["auto", false, "real"],
  ["auto", true, "profile"],
  ["real", true, "real"],
  ["profile", false, "profile"],
] as const)("mode %s, container %s: %s", async (mode, container, expected) => {
  await using fixture = await temporaryHome()
  const environment = environmentFrom({ HOME: "/u" })
  const home = homeAt(fixture.path, environment)
  const without = toolHome({ home, environment, mode, container })
  mkdirSync(join(fixture.path, "home"))
  const profile = join(fixture.path, "home")
  expect(without).toEqual({ HOME: "/u", HERMES_REAL_HOME: "/u" })
  expect(toolHome({ home, environment, mode, container })).toEqual({
    HOME: expected === "real" ? "/u" : profile,
    HERMES_REAL_HOME: "/u",
  })
})

test("a process that already runs in the profile's home finds the real one again", async () => {
  await using fixture = await temporaryHome()
  const inside = join(fixture.path, "home")
  const home = homeAt(fixture.path, environmentFrom({}))
  const repaired = (variables: Record<string, string>) =>
    toolHome({ home, environment: environmentFrom(variables), mode: "auto", container: false }).HOME
  expect(repaired({ HERMES_REAL_HOME: "/real", HOME: inside })).toBe("/real")
  expect(repaired({ HOME: inside })).toBe(userInfo().homedir)
})
