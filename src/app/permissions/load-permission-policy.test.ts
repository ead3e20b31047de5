import { join } from "node:path"

import fc from "fast-check"
import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import type { Result } from "../../base/result.ts"
import { loadPermissionPolicy } from "./load-permission-policy.ts"
import type { LoadedPolicy } from "./load-permission-policy.ts"
import { writeFileSync } from "node:fs"

async function load(fixture: TemporaryHome, platform = "cli"): Promise<Result<LoadedPolicy>> {
  const environment = environmentFrom(fixture.env)
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  return await loadPermissionPolicy({ config, home, workspaceRoot: fixture.workdir, platform })
}

function layers(loaded: Result<LoadedPolicy>): readonly string[] {
  if (!loaded.ok) return [loaded.error]
  return loaded.value.policy.layers.flatMap(({ name, rules }) =>
    rules.map(({ decision, pattern }) => `${name}: ${decision} ${pattern.text}`),
  )
}

test.each([
  ["", "default", "deny"],
  ["approvals: {mode: manual}\n", "default", "deny"],
  ["approvals: {mode: smart}\n", "auto", "ask"],
  ["approvals: {mode: off}\n", "full-auto", "deny"],
  ["approvals: {mode: plan}\n", "plan", "deny"],
  ["approvals: {mode: off, profile: accept-edits}\n", "accept-edits", "deny"],
  ["approvals: {profile: auto, auto_escalation: ask}\n", "auto", "ask"],
  ["approvals: {profile: mine, profiles: {mine: {default: ask}}}\n", "mine", "deny"],
  ["approvals: {platforms: {cli: {profile: plan}}}\n", "plan", "deny"],
  ["approvals: {platforms: {telegram: {profile: plan}}}\n", "default", "deny"],
])("%j uses the profile %s and escalates to %s", async (config, profile, escalation) => {
  await using fixture = await temporaryHome({ config })
  const loaded = await load(fixture)
  expect(loaded.ok && [loaded.value.profile, loaded.value.policy.escalation]).toEqual([profile, escalation])
})

test("rules come from every source, in the order in which they are asked", async () => {
  await using fixture = await temporaryHome({
    config:
      "approvals:\n  rules: [{pattern: terminal:a, decision: allow}]\n  platforms: {cli: {tool_rules: [{pattern: web, decision: deny}]}}\n",
    files: { "permissions.yaml": "terminal:b: ask\nplatforms: {cli: {rules: {network: ask}}}\n" },
    workFiles: { ".hermes/permissions.yaml": "terminal:c: deny\nterminal:d: allow\n" },
  })
  expect(layers(await load(fixture))).toEqual([
    "platform: deny web",
    "platform: ask network",
    "project: deny terminal:c",
    "settings: allow terminal:a",
    "home: ask terminal:b",
  ])
})

test.each([
  ["approvals: {platforms: {cli: {profile: none}}}\n", /no permission profile "none"/],
  ["approvals: {platforms: {telegram: {group: {tool_rules: [{pattern: x}]}}}}\n", /`x` is not a permission pattern/],
  ["approvals: {profiles: {plan: {}}}\n", /name of a built-in profile/],
])("%j is refused", async (config, message) => {
  await using fixture = await temporaryHome({ config })
  expect(layers(await load(fixture))[0]).toMatch(message)
})

/** A damaged file is refused, or has as many rules as the user wrote. It never has fewer. */
test("no damage to permissions.yaml drops a rule without a message", async () => {
  const lines = ["terminal:git push*: deny", "file:write:src/**: allow", "network: ask", "terminal:rm *: deny"]
  await using fixture = await temporaryHome()
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: lines.length - 1 }),
      fc.constantFrom(
        "terminl: deny",
        "terminal deny",
        "terminal: dny",
        "terminal: [deny",
        "\tterminal: deny",
        "web: {decision: dny}",
        "*x: deny",
        "- a",
      ),
      async (index, damage) => {
        writeFileSync(join(fixture.path, "permissions.yaml"), `${lines.with(index, damage).join("\n")}\n`)
        expect((await load(fixture)).ok).toBe(false)
      },
    ),
    { numRuns: 60 },
  )
})

const RULES = "terminal:git push*: deny\nfile:write:src/**: allow\nnetwork: ask\nterminal:rm *: deny\n"
const SETTINGS =
  "approvals:\n  rules:\n    - pattern: terminal:git *\n      decision: allow\n    - pattern: network\n      decision: deny\n"

test.each([
  { file: "permissions.yaml", text: RULES },
  { file: "config.yaml", text: SETTINGS },
])("a $file that was cut off is refused, or has every restriction", async ({ file, text }) => {
  await using fixture = await temporaryHome()
  const path = join(fixture.path, file)
  const restrictions = (loaded: Result<LoadedPolicy>): readonly string[] =>
    layers(loaded).filter((rule) => !rule.includes(": allow "))
  writeFileSync(path, text)
  const expected = restrictions(await load(fixture))
  expect(expected.length).toBeGreaterThan(0)
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: text.length }), async (length) => {
      writeFileSync(path, text.slice(0, length))
      const loaded = await load(fixture)
      const isSafe = !loaded.ok || loaded.value.policy.unreadable !== undefined
      if (!isSafe) expect(restrictions(loaded)).toEqual(expected)
    }),
    { numRuns: 120 },
  )
  writeFileSync(path, `${text.split("\n")[0] ?? ""}\n`)
  expect((await load(fixture)).ok).toBe(false)
})

test("a rule that the user removed is gone, and a comment says that the end was removed on purpose", async () => {
  await using fixture = await temporaryHome({ files: { "permissions.yaml": RULES } })
  await load(fixture)
  const path = join(fixture.path, "permissions.yaml")
  writeFileSync(path, RULES.replace("network: ask\n", ""))
  expect(layers(await load(fixture))).not.toContain("home: ask network")
  writeFileSync(path, "terminal:git push*: deny\n")
  expect(layers(await load(fixture))[0]).toContain("the end of the file is missing, and with it `deny terminal:rm *`")
  writeFileSync(path, "terminal:git push*: deny\n# shorter\n")
  expect(layers(await load(fixture))).toEqual(["home: deny terminal:git push*"])
})
