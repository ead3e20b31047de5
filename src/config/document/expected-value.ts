import type { Setting } from "../setting.ts"

/** Describes what a setting accepts, for sentences like "use …". */
export function expectedValue(setting: Setting): string {
  if (setting.values !== undefined)
    return `one of ${setting.values.map((value) => (value === "" ? '""' : value)).join(", ")}`
  const range = [
    setting.min === undefined ? "" : ` of at least ${setting.min}`,
    setting.max === undefined ? "" : ` up to ${setting.max}`,
  ]
  const names = {
    boolean: "true or false",
    integer: `a whole number${range.join("")}`,
    number: `a number${range.join("")}`,
    string: "text",
    enum: "one of its values",
    list: "a list",
    mapping: "a mapping",
    mixed: "a value that its description allows",
  }
  return names[setting.type]
}
