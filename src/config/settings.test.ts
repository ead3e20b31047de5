import { expect, test } from "vitest"
import { ENVIRONMENT_VARIABLES } from "./environment-variables.ts"
import { settingEntries, settingKeys, settingsUnder } from "./settings.ts"

test.each(settingEntries())("%s accepts its own default and explains itself", (_, setting) => {
  expect(setting.read(setting.default)).toEqual(setting.default)
  expect(setting.help).toMatch(/^[A-Z`"].*\.$/)
})

test("every limit in seconds fits a timer", () => {
  const limits = settingEntries()
    .flatMap(([key, setting]) => [
      [key, setting] as const,
      ...Object.entries(setting.fields ?? {}).map(([name, field]) => [`${key}.${name}`, field] as const),
    ])
    .filter(([, { help, type, reserved }]) => /seconds/i.test(help) && /integer|number/.test(type) && reserved !== true)
  expect(limits.length).toBeGreaterThan(5)
  expect(limits.filter(([, { max = Infinity }]) => max * 1000 >= 2 ** 31).map(([key]) => key)).toEqual([])
})

test("no setting is inside another, and each is in one section", () => {
  const keys = settingKeys()
  const nested = keys.filter((key) => keys.some((other) => key.startsWith(`${other}.`)))
  expect(nested).toEqual([])
  expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
})

test.each([
  ["watcher", ["watcher.enabled", "watcher.include", "watcher.report_all"]],
  ["toolsets", ["toolsets"]],
  ["watch", []],
])("the section %s has %j", (name, expected) => {
  expect(settingsUnder(name).map(([key]) => key)).toEqual(expected)
})

test("variables are listed once", () => {
  const names = ENVIRONMENT_VARIABLES.map((variable) => variable.name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})
