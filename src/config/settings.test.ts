import { expect, test } from "vitest"
import { ENVIRONMENT_VARIABLES } from "./environment-variables.ts"
import type { Setting } from "./setting.ts"
import { SETTING_SECTIONS, SETTINGS } from "./settings.ts"

const all: [string, Setting][] = Object.entries(SETTINGS)

test.each(all)("%s accepts its own default and explains itself", (_, setting) => {
  expect(setting.read(setting.default)).toEqual(setting.default)
  expect(setting.help).toMatch(/^[A-Z`"].*\.$/)
})

test("no setting is hidden inside another, and each stands in one section", () => {
  const keys = Object.keys(SETTINGS)
  const nested = keys.filter((key) => keys.some((other) => key.startsWith(`${other}.`)))
  expect(nested).toEqual([])
  expect(SETTING_SECTIONS.flatMap((section) => section.keys).toSorted()).toEqual(keys.toSorted())
})

test("variables are listed once", () => {
  const names = ENVIRONMENT_VARIABLES.map((variable) => variable.name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})
