import { nearest } from "../../base/nearest-name.ts"
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

/** The end of such a sentence: the allowed value that is most similar to an invalid one, if one is. */
export function nearestChoice(value: unknown, { values = [] }: Setting): string {
  const similar =
    typeof value === "string"
      ? nearest(
          value,
          values.filter((known) => known !== ""),
        )
      : undefined
  return similar === undefined ? "" : ` (did you mean ${similar}?)`
}
