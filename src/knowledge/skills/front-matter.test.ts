import { expect, test } from "vitest"

import { readFrontMatter } from "./front-matter.ts"
import { indexFields, skillNeeds, skillSettings, skillTags } from "./skill-fields.ts"

const ALIASES = [
  "a: &a [x, x, x, x, x, x, x, x, x]",
  ..."bcdefghij".split("").map((name, index) => {
    const earlier = `*${"abcdefghij"[index] ?? ""}`
    return `${name}: &${name} [${Array.from({ length: 9 }, () => earlier).join(", ")}]`
  }),
  "name: bomb",
  "description: *j",
].join("\n")

test.each([
  ["values of other types", "name: [a]\ndescription: {}", "directory"],
  ["numbers", "name: 7\ndescription: 8", "7"],
  ["nothing", "name: null\ndescription: ~", "directory"],
  ["a list", "- a\n- b", "directory"],
  ["a sentence", "just text", "directory"],
  ["aliases that expand without end", ALIASES, "bomb"],
  ["an alias of itself", "name: a\nmetadata: &m { hermes: *m }", "a"],
  ["wrong types everywhere", "name: a\nmetadata: x\nplatforms: 7\nprerequisites: [1]\nsetup: 9", "a"],
  [
    "wrong types in lists",
    "name: a\nmetadata: { hermes: [1] }\nrequired_credential_files: [null, 3, {path: [1]}]\nrequired_environment_variables: X",
    "a",
  ],
  ["a key twice", "name: a\nname: b", "b"],
  ["tabs", "\tname: a", "directory"],
  ["tags", "name: !!js/function 'x'", "x"],
  ["names of built-in properties", "name: __proto__\n__proto__: { polluted: 1 }", "__proto__"],
  ["keys that are mappings", "? {a: b}\n: c\nname: x", "x"],
  ["control characters", "name: a\u0000b", "a b"],
  ["nothing but brackets", "[".repeat(15_000), "directory"],
  ["a header that is too long", `name: long\nx: "${String.raw`\x`.repeat(200_000)}"`, "long"],
])("front matter with %s has a name and no effect beyond", (_what, yaml, name) => {
  const { fields, body } = readFrontMatter(`---\n${yaml}\n---\nBody`)
  expect([indexFields(fields, "directory").name, body]).toEqual([name, "Body"])
  expect(skillNeeds(fields).variables).toEqual([])
  expect([skillSettings(fields), skillTags(fields)]).toEqual([[], { tags: [], related: [] }])
  expect({}).not.toHaveProperty("polluted")
})
