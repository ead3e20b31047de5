import fc from "fast-check"
import { expect, test } from "vitest"

import { isRecord } from "../../base/json.ts"
import { readPermissionsDocument, readProfiles, readRestrictions, readRules } from "./read-rules.ts"
import type { ToolRule } from "./permission-rules.ts"

const shown = (rules: readonly ToolRule[]): readonly string[] =>
  rules.map(({ pattern, decision }) => `${decision} ${pattern.text}`)

test("rules are a list or a mapping from pattern to decision", () => {
  const listed = readRules([{ pattern: "terminal:git *", decision: "allow", classifier: "none" }], "approvals.rules")
  const mapped = readPermissionsDocument(
    { "terminal.*": "ask", rules: [{ pattern: "*", decision: "DENY" }] },
    "cli",
    "permissions.yaml",
  )
  expect(listed.ok && shown(listed.value)).toEqual(["allow terminal:git *"])
  expect(mapped.ok && shown(mapped.value.rules)).toEqual(["deny *", "ask terminal.*"])
})

test.each([
  [[{ pattern: "terminl", decision: "deny" }], /`terminl` is not a permission pattern/],
  [[{ pattern: "terminal", decision: "denny" }], /`rules\[0\]` needs a `decision`/],
  [[{ pattern: "terminal", decison: "deny" }], /unknown field `decison`; did you mean `decision`\?/],
  [[{ decision: "deny" }], /has no `pattern`/],
  [["terminal"], /must be a rule/],
  ["terminal", /must be a list/],
  [[{ pattern: "terminal", decision: "deny", inheritable: "no" }], /`inheritable`/],
])("%j fails as a whole", (value, message) => {
  const rules = readRules(value, "rules")
  expect(rules.ok ? "" : rules.error).toMatch(message)
})

test("an untrusted file can only restrict", () => {
  const rules = readRestrictions(
    { "terminal:rm *": "deny", terminal: "allow", web: "ask", "no such tool": "allow" },
    "f",
  )
  expect(rules.ok && shown(rules.value)).toEqual(["deny terminal:rm *", "ask web"])
  expect(readRestrictions({ "no such tool": "deny" }, "f").ok).toBe(false)
})

test.each([
  [{ default: { tool_rules: [] } }, /name of a built-in profile/],
  [{ own: { rules: [] } }, /unknown field `rules`/],
  [{ own: { default: "maybe" } }, /`default` of/],
  [{ own: [] }, /must be a mapping/],
])("the profiles %j are refused", (value, message) => {
  const profiles = readProfiles(value, "approvals.profiles")
  expect(profiles.ok ? "" : profiles.error).toMatch(message)
})

/** Damaged rules must never be dropped, because a dropped rule may have been a restriction. */
test("a document is read completely or not at all, whatever it contains", () => {
  const decision = fc.oneof(fc.constantFrom("allow", "deny", "ask", "auto"), fc.anything())
  const pattern = fc.oneof(
    fc.constantFrom("*", "terminal:rm *", "file:write:src/**", "write"),
    fc.string(),
    fc.anything(),
  )
  const entry = fc.oneof(
    fc.record({ pattern, decision }),
    fc.record({ pattern, decision, extra: fc.anything() }),
    fc.anything(),
  )
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
      const rules = readRules(entries, "rules")
      if (!rules.ok) return
      const written = entries.map((read) => (isRecord(read) ? read : {}))
      const word = (value: unknown): string => (typeof value === "string" ? value.trim() : "")
      expect(shown(rules.value)).toEqual(
        written.map((read) => `${word(read["decision"]).toLowerCase()} ${word(read["pattern"])}`),
      )
    }),
  )
})

test("the restrictions of a damaged file are read completely or not at all", () => {
  const value = fc.dictionary(
    fc.constantFrom("terminal:rm *", "web", "terminl", "write"),
    fc.oneof(fc.constantFrom("allow", "deny", "ask"), fc.string(), fc.anything()),
  )
  fc.assert(
    fc.property(value, (document) => {
      const rules = readRestrictions(document, "f")
      const restricting = Object.values(document).filter((decision) => decision === "deny" || decision === "ask")
      if (rules.ok) expect(rules.value.length).toBeGreaterThanOrEqual(restricting.length)
    }),
  )
})
