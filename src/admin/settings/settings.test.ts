import { existsSync, readFileSync, statSync } from "node:fs"
import { expect, test } from "vitest"
import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { checkSettings } from "./check-settings.ts"
import { describeSettings, effectiveSettings, settingsWithOrigin } from "./describe-settings.ts"
import { findEditor } from "./edit-config-file.ts"
import { migrateSettings, setSetting, unsetSetting } from "./edit-settings.ts"
import { findLostProtection } from "./lost-protection.ts"
import { maskSettings } from "./mask-settings.ts"
import { readSetting } from "./read-setting.ts"

const CONFIG =
  "# my settings\nagent:\n  max_turns: 7 # enough\nmodel:\n  default: test/model\n  api_key: sk-abcdefghijklmnop1234\n"
const DOTENV = "OPENAI_API_KEY=sk-0123456789abcdefghij\n"

test("reads the effective value, a secret masked, or suggests a similar name", async () => {
  using context = createTestHomeContext({ "config.yaml": CONFIG, ".env": DOTENV })
  expect(await readSetting(context, "agent.max_turns")).toEqual({ ok: true, value: { value: 7, problems: [] } })
  expect(await readSetting(context, "OPENAI_API_KEY")).toEqual({
    ok: true,
    value: { value: "sk-0...ghij", problems: [] },
  })
  expect(await readSetting(context, "agent.max_turn")).toEqual({
    ok: false,
    error: { kind: "not-set", suggestion: "agent.max_turns" },
  })
})

test("describes main and changed settings with their origin, and masks secrets", async () => {
  using context = createTestHomeContext({ "config.yaml": `${CONFIG}logging:\n  level: DEBUG\n`, ".env": DOTENV })
  const { apiKeys, sections, otherChanges, broken } = await describeSettings(context)
  expect(apiKeys).toContainEqual({ name: "OPENAI_API_KEY", value: "sk-0...ghij" })
  expect(apiKeys).toContainEqual({ name: "ANTHROPIC_API_KEY", value: undefined })
  expect(sections.find(({ title }) => title === "Agent")?.settings[0]).toEqual({
    key: "agent.max_turns",
    value: 7,
    origin: "file",
  })
  expect(otherChanges).toEqual([{ key: "logging.level", value: "DEBUG", origin: "file" }])
  expect(broken).toBeUndefined()
  const everything = JSON.stringify([sections, await effectiveSettings(context), await settingsWithOrigin(context)])
  expect(everything).toContain("sk-a...1234")
  expect(everything).not.toContain("abcdefghijklmnop")
})

test("masks secret keys, secret headers, and passwords inside addresses", () => {
  const settings = {
    api_key: "sk-abcdefghijklmnop1234",
    url: "https://user:password@example.org/",
    headers: { Authorization: "Bearer abcdefghijklmnop1234" },
    list: [{ token: "abcdefghijklmnop1234" }],
    name: "plain",
  }
  expect(maskSettings(settings, { secrets: "hidden" })).toEqual({
    api_key: "***",
    url: expect.not.stringContaining("password"),
    headers: { Authorization: "***" },
    list: [{ token: "***" }],
    name: "plain",
  })
  expect(maskSettings(settings.api_key, { key: "api_key", secrets: "ends" })).toBe("sk-a...1234")
})

test("set and unset change one value; a secret goes to a private .env", async () => {
  using context = createTestHomeContext({ "config.yaml": CONFIG })
  const read = (name: string): string => readFileSync(context.home.file(name), "utf8")
  expect(await setSetting(context, "agent.max_turns", "9")).toMatchObject({ ok: true, value: { file: "config.yaml" } })
  expect(read("config.yaml")).toBe(CONFIG.replace("7", "9"))
  expect(await unsetSetting(context, "agent.max_turns")).toMatchObject({ ok: true })
  expect(await unsetSetting(context, "agent.max_turns")).toMatchObject({ ok: false, error: { kind: "failed" } })
  expect(await setSetting(context, "a", "[1, 2")).toMatchObject({ ok: false, error: { kind: "invalid" } })
  expect(await setSetting(context, "OPENAI_API_KEY", "sk-x")).toMatchObject({ ok: true, value: { file: ".env" } })
  expect(read(".env")).toContain("OPENAI_API_KEY=sk-x")
  expect(statSync(context.home.file(".env")).mode & 0o077).toBe(0)
})

test("set creates a home that does not exist", async () => {
  using parent = createTestHomeContext()
  using context = createTestHomeContext({}, { HERMES_HOME: `${parent.directory}/new` })
  expect(await setSetting(context, "agent.max_turns", "9")).toMatchObject({ ok: true })
  expect(existsSync(`${parent.directory}/new/config.yaml`)).toBe(true)
})

test("check reports a missing file, the state of a file, its problems, and a file that does not parse", async () => {
  const check = async (text?: string): ReturnType<typeof checkSettings> => {
    using context = createTestHomeContext(text === undefined ? {} : { "config.yaml": text })
    return await checkSettings(context)
  }
  expect(await check()).toMatchObject({ kind: "checked", file: undefined, problems: [], warnings: [] })
  expect(await check("agent:\n  max_turns: 5\n")).toMatchObject({ file: { version: 0, outdated: false } })
  expect(await check("model_catalog:\n  ttl_hours: 24\n")).toMatchObject({ file: { version: 0, outdated: true } })
  expect(await check("agnet:\n  x: 1\n")).toMatchObject({ problems: [{ severity: "warning", path: "agnet" }] })
  expect(await check("a: [1\n")).toMatchObject({ kind: "broken", broken: { line: expect.any(Number) } })
})

test("migrate converts an old file once and keeps a copy", async () => {
  using context = createTestHomeContext({ "config.yaml": "_config_version: 10\nmodel_catalog:\n  ttl_hours: 24\n" })
  expect(await migrateSettings(context)).toMatchObject({ ok: true, value: { from: 10, backup: expect.any(String) } })
  expect(await migrateSettings(context)).toMatchObject({ ok: true, value: { changed: [] } })
})

test("the editor is EDITOR, then VISUAL, then an installed one", () => {
  using context = createTestHomeContext({}, { EDITOR: " ", VISUAL: "code --wait" })
  expect(findEditor(context.environment)).toBe("code --wait")
  using none = createTestHomeContext({}, { PATH: "/nowhere" })
  expect(findEditor(none.environment)).toBeUndefined()
})

test.each([
  ["approvals.rules", '[{"bogus": 1}]', /approvals\.rules\[0\]/u],
  ["approvals.profiles.x", '{"default": "zzz"}', /^`default` of `approvals\.profiles\.x` must be one of/u],
  ["approvals", '{"platforms": {"cli": "nonsense"}}', /^`approvals\.platforms\.cli` must be a mapping/u],
])("permission rules that the start would refuse are not written: %s %s", async (path, text, message) => {
  using context = createTestHomeContext({ "config.yaml": "approvals:\n  timeout: 9\n" })
  const refused = await setSetting(context, path, text)
  expect(refused.ok ? "" : refused.error.message).toMatch(message)
  expect(await findLostProtection(context, path, text)).toBeUndefined()
  expect(readFileSync(context.home.file("config.yaml"), "utf8")).toBe("approvals:\n  timeout: 9\n")
})

test("permission rules that are broken already can be repaired step by step, and good ones are written", async () => {
  using context = createTestHomeContext({
    "config.yaml": "approvals:\n  profiles:\n    x:\n      default: zzz\n  rules:\n    - bogus: 1\n",
  })
  expect((await setSetting(context, "approvals.rules", "[]")).ok).toBe(true)
  expect((await setSetting(context, "approvals.profiles.x.default", "ask")).ok).toBe(true)
  expect((await setSetting(context, "approvals.profile", "x")).ok).toBe(true)
})
