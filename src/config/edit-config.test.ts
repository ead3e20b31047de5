import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome, type TemporaryHome } from "../../test/support/temporary-home.ts"
import { editConfig, saveConfig, setFromText, unsetPath, type ConfigEdit } from "./edit-config.ts"
import { environmentFrom } from "./environment.ts"
import { resolveHome } from "./home.ts"
import { loadConfig } from "./load-config.ts"
import { restoreTemplates } from "./document/template-restore.ts"
import { coerceValue } from "./document/value-coercion.ts"
import { parseYaml } from "./document/yaml-document.ts"

function context(fixture: TemporaryHome, variables: Record<string, string> = {}) {
  const environment = environmentFrom({ ...fixture.env, ...variables })
  return { home: resolveHome(environment), environment }
}

const textOf = (fixture: TemporaryHome) => readFileSync(join(fixture.path, "config.yaml"), "utf8")

function treeOf(fixture: TemporaryHome): unknown {
  const parsed = parseYaml(textOf(fixture))
  return parsed.ok ? parsed.value.tree : parsed.error
}

test.each<[string, unknown]>([
  ["true", true],
  ["Yes", true],
  ["on", true],
  ["false", false],
  ["no", false],
  ["OFF", false],
  ["null", null],
  ["12", 12],
  ["-3", -3],
  ["1.5", 1.5],
  [".5", 0.5],
  ["2.", 2],
  ["1.2.3", "1.2.3"],
  ["1e3", "1e3"],
  ['[1, "a"]', [1, "a"]],
  ['{"a": 1}', { a: 1 }],
  ['"12"', "12"],
  ["123456789012345678", "123456789012345678"],
  ["", ""],
  ["plain text", "plain text"],
])("the text %j becomes %j", (text, expected) => {
  expect(coerceValue(text)).toEqual({ ok: true, value: expected })
})

test.each<[string, string, string, unknown]>([
  ["a: [{k: 1}]\n", "a.0.k", "2", { a: [{ k: 2 }] }],
  ["b: str\n", "b.x", "3", { b: { x: 3 } }],
  ["a: 1\n", "v", "1.2.3", { a: 1, v: "1.2.3" }],
  ["a: 1\n", "x.y.z", "[1]", { a: 1, x: { y: { z: [1] } } }],
  ["1: {b: 2}\n", "1.b", "3", { "1": { b: 3 } }],
  ["a: 1\na: 2\n", "a", "3", { a: 3 }],
  ["model: gpt\n", "model.provider", "xai", { model: { default: "gpt", provider: "xai" } }],
  ["base: &b {x: 1}\nuse: *b\n", "use.x", "2", { base: { x: 1 }, use: { x: 2 } }],
  ["a: [1, 2]\n", "a.1", "5", { a: [1, 5] }],
  ["", "agent.max_turns", "7", { agent: { max_turns: 7 } }],
])("on %j set %s %s", async (before, path, value, expected) => {
  await using fixture = await temporaryHome({ config: before })
  expect(await setFromText(context(fixture), path, value)).toMatchObject({ ok: true, value: { file: "config.yaml" } })
  expect(treeOf(fixture)).toEqual(expected)
})

test.each([
  ["a: [1]\n", "a.5.k", "3"],
  ["a: [1]\n", "a.1", "3"],
  ["a: [1]\n", "a.first", "3"],
  ["a: 1\n", "x", "[1"],
  ["a: 1\n", "a..b", "1"],
  ["a: 1\n", "__proto__.x", "1"],
  ["a: 1\n", "agent.max_turns", "many"],
  ["a: 1\n", "clarify.max_choices", "9"],
  ["a: 1\n", "display.tool_progress", "loud"],
])("on %j set %s %s is a usage error and changes nothing", async (before, path, value) => {
  await using fixture = await temporaryHome({ config: before })
  expect(await setFromText(context(fixture), path, value)).toMatchObject({ ok: false, error: { kind: "invalid" } })
  expect(textOf(fixture)).toBe(before)
})

test("one change is a change of one line: comments, order, blank lines and templates stay", async () => {
  const before = `# my settings
model:
  default: gpt   # the good one
  api_key: \${MY_KEY}

# limits
agent:
  max_turns: 90  # plenty
  disabled_toolsets:
  - web
  - vision
zeta:   {a: 1}
`
  await using fixture = await temporaryHome({ config: before })
  await setFromText(context(fixture, { MY_KEY: "sk-planted-secret" }), "agent.max_turns", "12")
  expect(textOf(fixture)).toBe(before.replace("max_turns: 90  # plenty", "max_turns: 12  # plenty"))
  await setFromText(context(fixture), "zeta.b", "[2]")
  await unsetPath(context(fixture), "agent.disabled_toolsets")
  expect(textOf(fixture)).toBe(
    before
      .replace("max_turns: 90  # plenty", "max_turns: 12  # plenty")
      .replace("  disabled_toolsets:\n  - web\n  - vision\n", "")
      .replace("zeta:   {a: 1}", "zeta:   {a: 1, b: [2]}"),
  )
})

test("a new file is private and has only the change and the version", async () => {
  await using fixture = await temporaryHome()
  const previous = process.umask(0)
  try {
    await setFromText(context(fixture), "agent.max_turns", "12")
  } finally {
    process.umask(previous)
  }
  expect(textOf(fixture)).toBe("_config_version: 29\nagent:\n  max_turns: 12\n")
  expect(statSync(join(fixture.path, "config.yaml")).mode & 0o777).toBe(0o600)
})

test("variables with secrets go to .env, settings to the file", async () => {
  await using fixture = await temporaryHome({ config: "a: 1\n" })
  for (const name of ["OPENAI_API_KEY", "my_token", "TERMINAL_SSH_KEY", "FAL_KEY"]) {
    expect(await setFromText(context(fixture), name, "x1")).toMatchObject({
      ok: true,
      value: { file: ".env", warnings: [] },
    })
  }
  expect(readFileSync(join(fixture.path, ".env"), "utf8")).toBe(
    "OPENAI_API_KEY=x1\nMY_TOKEN=x1\nTERMINAL_SSH_KEY=x1\nFAL_KEY=x1\n",
  )
  const dotted = await setFromText(context(fixture), "mcp_servers.gh.env.GITHUB_TOKEN", "x")
  expect(dotted).toMatchObject({ ok: true, value: { file: "config.yaml", warnings: [] } })
  expect(treeOf(fixture)).toEqual({ a: 1, mcp_servers: { gh: { env: { GITHUB_TOKEN: "x" } } } })
})

const MODEL = "model:\n  default: gpt-4\n  provider: openai-api\n  base_url: http://h/v1\n"

test("a single value for a section sets its main setting and keeps the others", async () => {
  await using fixture = await temporaryHome({ config: MODEL })
  expect(await setFromText(context(fixture), "model", "gpt-5")).toMatchObject({
    ok: true,
    value: { paths: ["model.default"] },
  })
  expect(textOf(fixture)).toBe(MODEL.replace("gpt-4", "gpt-5"))
})

test("a mapping for a section changes only the settings it names", async () => {
  await using fixture = await temporaryHome({ config: MODEL })
  await setFromText(context(fixture), "model", '{"default": "m", "max_tokens": 5}')
  expect(treeOf(fixture)).toEqual({
    model: { default: "m", provider: "openai-api", base_url: "http://h/v1", max_tokens: 5 },
  })
})

test.each([
  ["agent", "foo", /`agent` is a section, not a setting; set one of its settings: `agent\.max_turns`/],
  ["agent", "5", /is a section/],
  ["display.sections", "x", /is a section/],
  ["model", "null", /invalid value for `model\.default`/],
  ["model", "[1]", /invalid value for `model\.default`/],
  ["agent", '{"max_turns": "many"}', /invalid value for `agent\.max_turns`/],
  ["agent.max_turns.x", "1", /`agent\.max_turns` is a single value/],
  ["auxiliary.vision.timeout", "soon", /invalid value for `auxiliary\.vision\.timeout`/],
  ["approvals.mode", "banana", /use one of manual, smart, off, plan, default, accept-edits, auto, full-auto$/],
  ["approvals.mode", "manaul", /\(did you mean manual\?\)/],
  ["approvals.profile", "accept_edits", /\(did you mean accept-edits\?\)/],
  ["terminal.sandbox", "of", /\(did you mean off\?\)/],
])("%s = %s is refused and changes nothing", async (path, value, message) => {
  await using fixture = await temporaryHome({ config: MODEL })
  expect(await setFromText(context(fixture), path, value)).toMatchObject({
    ok: false,
    error: { kind: "invalid", message: expect.stringMatching(message) },
  })
  expect(textOf(fixture)).toBe(MODEL)
})

test.each([
  ["display.language", "x", "`display.language` is reserved for a later release: it is stored, but has no effect yet"],
  [
    "auxiliary.skills_hub.model",
    "x",
    "`auxiliary.skills_hub.model` is reserved for a later release: it is stored, but has no effect yet",
  ],
  [
    "auxiliary.vision.modle",
    "x",
    "`auxiliary.vision.modle` is not a setting of this release; did you mean `auxiliary.vision.model`?",
  ],
  ["agent.max_turn", "5", "`agent.max_turn` is not a setting of this release; did you mean `agent.max_turns`?"],
])("%s has no effect, and a warning reports it", async (path, value, warning) => {
  await using fixture = await temporaryHome()
  expect(await setFromText(context(fixture), path, value)).toMatchObject({ ok: true, value: { warnings: [warning] } })
})

test("removing the terminal section removes its mirrored variables, which would apply again", async () => {
  await using fixture = await temporaryHome()
  await setFromText(context(fixture), "terminal.backend", "docker")
  await setFromText(context(fixture), "terminal.sandbox", "off")
  expect(readFileSync(join(fixture.path, ".env"), "utf8")).toBe("TERMINAL_ENV=docker\nTERMINAL_SANDBOX=off\n")
  await unsetPath(context(fixture), "terminal")
  const config = await loadConfig(context(fixture))
  expect([config.get("terminal.backend"), readFileSync(join(fixture.path, ".env"), "utf8").trim()]).toEqual([
    "local",
    "",
  ])
})

test("terminal settings are mirrored for the Python edition, except the directory", async () => {
  await using fixture = await temporaryHome()
  await setFromText(context(fixture), "terminal.backend", "docker")
  await setFromText(context(fixture), "terminal.timeout", "60")
  await setFromText(context(fixture), "terminal.cwd", "/w")
  expect(readFileSync(join(fixture.path, ".env"), "utf8")).toBe("TERMINAL_ENV=docker\nTERMINAL_TIMEOUT=60\n")
  await unsetPath(context(fixture), "terminal.timeout")
  expect(readFileSync(join(fixture.path, ".env"), "utf8")).toBe("TERMINAL_ENV=docker\n")
})

test("unset removes a key and fails when there is none", async () => {
  await using fixture = await temporaryHome({ config: "a:\n  b: 1 # x\n  c: 2\n" })
  expect(await unsetPath(context(fixture), "a.b")).toMatchObject({ ok: true })
  expect(textOf(fixture)).toBe("a:\n  c: 2\n")
  expect(await unsetPath(context(fixture), "a.b")).toMatchObject({ ok: false, error: { kind: "failed" } })
  expect(await unsetPath(context(fixture), "OPENAI_API_KEY")).toMatchObject({ ok: false, error: { kind: "failed" } })
})

test("several edits happen together or not at all", async () => {
  await using fixture = await temporaryHome({ config: "a: 1\n" })
  const edits: ConfigEdit[] = [
    { path: "b", value: 2 },
    { path: "nope", remove: true },
  ]
  expect(await editConfig(context(fixture), edits)).toMatchObject({ ok: false })
  expect(textOf(fixture)).toBe("a: 1\n")
})

test.each(["a: [1\n", "- 1\n", "a: 'open\n"])("a file that does not parse is never overwritten: %j", async (text) => {
  await using fixture = await temporaryHome({ config: text })
  const results = [
    await setFromText(context(fixture), "b", "1"),
    await unsetPath(context(fixture), "a"),
    await saveConfig(context(fixture), { b: 1 }),
  ]
  for (const result of results)
    expect(result).toMatchObject({
      ok: false,
      error: { kind: "failed", message: expect.stringMatching(/line \d+, column \d+/) },
    })
  expect(textOf(fixture)).toBe(text)
})

test("bytes that are not UTF-8 are not rewritten", async () => {
  await using fixture = await temporaryHome()
  const bytes = Buffer.from("a: \xe9\n", "latin1")
  writeFileSync(join(fixture.path, "config.yaml"), bytes)
  expect(await setFromText(context(fixture), "b", "1")).toMatchObject({ ok: false, error: { kind: "failed" } })
  expect(readFileSync(join(fixture.path, "config.yaml"))).toEqual(bytes)
})

test.each<[Record<string, string>, Record<string, string>, string]>([
  [{ HERMES_MANAGED: "nix" }, {}, "nix"],
  [{ HERMES_MANAGED: "true" }, {}, "a package manager"],
  [{}, { ".managed": "brew\n" }, "brew"],
])("a managed installation refuses: %j %j", async (variables, files, owner) => {
  await using fixture = await temporaryHome({ config: "a: 1\n", files })
  const refused = await setFromText(context(fixture, variables), "a", "2")
  expect(refused).toEqual({
    ok: false,
    error: { kind: "failed", message: `this installation is managed by ${owner}; change its configuration there` },
  })
  expect(textOf(fixture)).toBe("a: 1\n")
})

test("a value from a variable is written back as the variable", async () => {
  await using fixture = await temporaryHome({
    config:
      "providers:\n  x:\n    api_key: ${KEY}\n    api: http://${HOST}/v1\ncustom_providers:\n  - {name: a, key: '${KEY}'}\n  - {name: b, key: plain}\n",
  })
  const here = context(fixture, { KEY: "sk-planted", HOST: "h" })
  const config = await loadConfig(here)
  const provider = { ...(config.lookup("providers.x") as object), api: "http://other/v1" }
  await editConfig(here, [{ path: "providers.x", value: provider }])
  const swapped = [
    { name: "b", key: "plain" },
    { name: "a", key: "sk-planted" },
  ]
  await editConfig(here, [{ path: "custom_providers", value: swapped }])
  await saveConfig(here, { ...(treeOf(fixture) as object), added: "sk-planted-not-really" })
  expect(treeOf(fixture)).toEqual({
    providers: { x: { api_key: "${KEY}", api: "http://other/v1" } },
    custom_providers: [
      { name: "b", key: "plain" },
      { name: "a", key: "${KEY}" },
    ],
    added: "sk-planted-not-really",
  })
})

test("templates in lists without names are matched by index", () => {
  const environment = environmentFrom({ A: "1", B: "2" })
  expect(restoreTemplates(["1", "2", "3"], ["${A}", "${B}"], environment)).toEqual(["${A}", "${B}", "3"])
  expect(restoreTemplates({ a: { b: "1" } }, { a: { b: "${A}" } }, environment)).toEqual({ a: { b: "${A}" } })
})

test("an existing mode is kept, and no lock or temporary file remains", async () => {
  await using fixture = await temporaryHome({ config: "a: 1\n" })
  chmodSync(join(fixture.path, "config.yaml"), 0o644)
  await setFromText(context(fixture), "a", "2")
  expect([statSync(join(fixture.path, "config.yaml")).mode & 0o777, readdirSync(fixture.path)]).toEqual([
    0o644,
    ["config.yaml"],
  ])
})

test("a file that gets a secret is closed to other users; a reference is no secret", async () => {
  await using fixture = await temporaryHome({ config: "a: 1\n" })
  const path = join(fixture.path, "config.yaml")
  const mode = (): number => statSync(path).mode & 0o777
  chmodSync(path, 0o644)
  await setFromText(context(fixture, { HERMES_CONTAINER: "0" }), "model.api_key", "${MODEL_API_KEY}")
  expect(mode()).toBe(0o644)
  await setFromText(context(fixture, { HERMES_CONTAINER: "0" }), "model.api_key", "sk-planted-not-really")
  expect(mode()).toBe(0o600)
})

test.each([
  ["approvals.deny", "[]", /^`approvals\.deny` is not a setting, and permissions must not be misread; /],
  ["approvals", '{"profil": "plan"}', /did you mean `approvals\.profile`\?$/],
  ["aprovals.profile", "plan", /did you mean `approvals\.profile`\?$/],
  ["permissions.deny", "[]", /^`permissions\.deny` is not a setting/],
  ["permissions", "{}", /use one of approvals\./],
  ["approvals", "{}", /^an empty mapping sets nothing in `approvals`; `hermes config unset approvals`/],
  ["HERMES_YOLO_MODE", "1", /^`HERMES_YOLO_MODE` is an environment variable and has no effect in config\.yaml/],
  ["TERMINAL_SANDBOX", "off", /^`TERMINAL_SANDBOX` is an environment variable; set `terminal\.sandbox` instead/],
])("%s %s is refused, and nothing is written", async (path, value, message) => {
  await using fixture = await temporaryHome({ config: "a: 1\n" })
  const refused = await setFromText(context(fixture), path, value)
  expect(refused.ok ? "" : refused.error.message).toMatch(message)
  expect(textOf(fixture)).toBe("a: 1\n")
})

test("two processes that write at the same time lose no change", async () => {
  await using fixture = await temporaryHome({ config: "# shared\n" })
  const script = `
    import { editConfig } from ${JSON.stringify(join(import.meta.dirname, "edit-config.ts"))}
    import { processEnvironment } from ${JSON.stringify(join(import.meta.dirname, "environment.ts"))}
    import { resolveHome } from ${JSON.stringify(join(import.meta.dirname, "home.ts"))}
    const environment = processEnvironment()
    for (let i = 0; i < 20; i += 1) {
      const done = await editConfig({ home: resolveHome(environment), environment }, [{ path: process.env.WHO + ".k" + i, value: i }])
      if (!done.ok) throw new Error(done.error.message)
    }
  `
  const children = ["a", "b"].map((who) =>
    spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
      env: { ...fixture.env, WHO: who },
      stdio: ["ignore", "ignore", "inherit"],
    }),
  )
  await Promise.all(children.map(async (child) => await once(child, "exit")))
  const all = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`k${index}`, index]))
  expect(treeOf(fixture)).toEqual({ a: all, b: all })
  expect(textOf(fixture)).toContain("# shared")
  expect(existsSync(join(fixture.path, "config.yaml.lock"))).toBe(false)
})
