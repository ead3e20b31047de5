import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome, type TemporaryHome } from "../../test/support/temporary-home.ts"
import { auxiliarySettings } from "./auxiliary-settings.ts"
import { brokenFileWarning } from "./config-file.ts"
import { expandVariables, mergeTrees } from "./document/document-tree.ts"
import { environmentFrom } from "./environment.ts"
import { ensureHome, resolveHome } from "./home.ts"
import { startRefusal } from "./config-problem.ts"
import { loadConfig, type Config } from "./load-config.ts"
import { terminalVariables } from "./terminal-variables.ts"

async function load(fixture: TemporaryHome, variables: Record<string, string> = {}, invocation = {}): Promise<Config> {
  const environment = environmentFrom({ ...fixture.env, ...variables })
  return await loadConfig({ home: resolveHome(environment), environment, invocation })
}

const paths = (config: Config) => config.problems.map((problem) => problem.path)

test.each([
  [{ a: { x: 1, y: 2 }, l: [1, 2] }, { a: { y: 3 }, l: [9] }, { a: { x: 1, y: 3 }, l: [9] }, []],
  [{ a: { x: 1 } }, { a: null }, { a: { x: 1 } }, ["a"]],
  [{ a: 1 }, { a: null }, { a: null }, []],
  [{ a: { b: { c: 1 } } }, { a: { b: null } }, { a: { b: { c: 1 } } }, ["a.b"]],
])("defaults %j with %j give %j", (defaults, user, expected, warned) => {
  const nulls: string[] = []
  expect(mergeTrees(defaults, user, (path) => nulls.push(path))).toEqual(expected)
  expect(nulls).toEqual(warned)
})

test.each([
  ["${FOO}-${NOPE}", "bar-${NOPE}"],
  [
    ["$FOO", "${FOO}"],
    ["$FOO", "bar"],
  ],
  [{ "${FOO}": 1 }, { "${FOO}": 1 }],
  ["${}", "${}"],
  ["${FOO:-x}", "${FOO:-x}"],
  [{ a: [{ b: "${FOO}" }] }, { a: [{ b: "bar" }] }],
])("with FOO=bar %j expands to %j", (value, expected) => {
  expect(expandVariables(value, (name) => ({ FOO: "bar" })[name])).toEqual(expected)
})

test("without a file everything has its default", async () => {
  await using fixture = await temporaryHome()
  const config = await load(fixture)
  expect({
    turns: config.get("agent.max_turns"),
    provider: config.get("model.provider"),
    nested: config.lookup("tool_loop_guardrails.hard_stop_after.same_tool_failure"),
    task: config.lookup("auxiliary.web_extract.timeout"),
    origin: config.origin("agent.max_turns"),
    user: config.user(),
    problems: config.problems,
  }).toEqual({ turns: 90, provider: "auto", nested: 8, task: 360, origin: "default", user: {}, problems: [] })
})

test("the four layers with their origin", async () => {
  await using fixture = await temporaryHome({
    config:
      "agent: {max_turns: 5, verbose: yes}\nmodel: {default: from-file, provider: anthropic}\nstate: {url: postgres://file/x}\n",
  })
  const variables = {
    HERMES_MAX_ITERATIONS: "7",
    HERMES_INFERENCE_MODEL: "from-environment",
    HERMES_INFERENCE_PROVIDER: "stale",
    HERMES_DATABASE_URL: "postgres://env/x",
  }
  const config = await load(fixture, variables, { "agent.verbose": false })
  const keys = ["agent.max_turns", "agent.verbose", "model.default", "model.provider", "state.url", "timezone"] as const
  expect(keys.map((key) => [config.get(key), config.origin(key)])).toEqual([
    [5, "file"],
    [false, "invocation"],
    ["from-environment", "environment"],
    ["anthropic", "file"],
    ["postgres://env/x", "environment"],
    ["", "default"],
  ])
})

test("variables that only fill gaps do so without a file", async () => {
  await using fixture = await temporaryHome()
  const config = await load(fixture, {
    HERMES_MAX_ITERATIONS: "7",
    HERMES_INFERENCE_PROVIDER: "xai",
    AUXILIARY_VISION_MODEL: "eye",
    AUXILIARY_MINE_BASE_URL: "http://h/v1",
  })
  expect([config.get("agent.max_turns"), config.get("model.provider")]).toEqual([7, "xai"])
  expect(auxiliarySettings(config, "vision")).toMatchObject({ model: "eye", provider: "auto", timeoutSeconds: 120 })
  expect(auxiliarySettings(config, "mine")).toMatchObject({
    baseUrl: "http://h/v1",
    provider: "auto",
    timeoutSeconds: 30,
  })
})

test("terminal variables count only when the file has no terminal section", async () => {
  await using fixture = await temporaryHome({ config: "worktree: true\n" })
  const variables = { TERMINAL_ENV: "docker", TERMINAL_TIMEOUT: "9", TERMINAL_DOCKER_VOLUMES: '["/a:/b"]' }
  const without = await load(fixture, variables)
  expect([
    without.get("terminal.backend"),
    without.get("terminal.timeout"),
    without.get("terminal.docker_volumes"),
  ]).toEqual(["docker", 9, ["/a:/b"]])
  writeFileSync(join(fixture.path, "config.yaml"), "terminal: {timeout: 20}\n")
  const config = await load(fixture, variables)
  expect([config.get("terminal.backend"), config.get("terminal.timeout")]).toEqual(["local", 20])
  expect(terminalVariables(config)).toMatchObject({
    TERMINAL_ENV: "local",
    TERMINAL_TIMEOUT: "20",
    TERMINAL_DOCKER_VOLUMES: "[]",
  })
})

test("an invalid variable is reported and ignored", async () => {
  await using fixture = await temporaryHome()
  const config = await load(fixture, { HERMES_MAX_ITERATIONS: "many" })
  expect([config.get("agent.max_turns"), config.origin("agent.max_turns"), paths(config)]).toEqual([
    90,
    "default",
    ["agent.max_turns"],
  ])
})

test.each(["HERMES_IGNORE_USER_CONFIG", "HERMES_SAFE_MODE"])("%s removes the file's layer", async (name) => {
  await using fixture = await temporaryHome({ config: "agent: {max_turns: 5}\n" })
  expect((await load(fixture, { [name]: "1" })).get("agent.max_turns")).toBe(90)
})

test.each([
  ["max_turns: 5\n", "agent.max_turns", 5],
  ["max_turns: 5\nagent: {max_turns: 6}\n", "agent.max_turns", 6],
  ["model: gpt\n", "model.default", "gpt"],
  ["model: {model: gpt}\n", "model.default", "gpt"],
  ["model: {default: a, model: b}\n", "model.default", "a"],
  ["model: gpt\nprovider: xai\n", "model.provider", "xai"],
  ["model: {provider: a}\nprovider: b\n", "model.provider", "a"],
  ["base_url: http://h\n", "model.base_url", "http://h"],
  ["context_length: 8192\n", "model.context_length", 8192],
  ["browser: {engine: local}\n", "browser.backend", "local"],
  ["agent: {personalities: {a: x}}\npersonalities: {b: y}\n", "personalities", { a: "x", b: "y" }],
  ["fallback_model: {provider: p, model: m}\n", "fallback_providers", [{ provider: "p", model: "m" }]],
  [
    "custom_providers: [{name: My Box (GPU), base_url: http://h/v1, model: m, api_key: none}]\n",
    "providers",
    { "my-box-gpu": { name: "My Box (GPU)", api: "http://h/v1", default_model: "m" } },
  ],
  [
    "providers: {x: {baseUrl: http://h/v1, apiKey: k, api_key: today, models: {aB: {}}}}\n",
    "providers",
    { x: { base_url: "http://h/v1", api_key: "today", models: { aB: {} } } },
  ],
  ["_config_version: 20\n", "compression.strategy", "summarize"],
  ["_config_version: 29\n", "compression.strategy", "pipeline"],
  ["worktree: false\n", "compression.strategy", "pipeline"],
])("legacy form %j", async (text, path, expected) => {
  await using fixture = await temporaryHome({ config: text })
  const config = await load(fixture)
  expect(config.lookup(path)).toEqual(expected)
  expect(config.lookup("provider")).toBeUndefined()
})

test.each<[string, Record<string, string>, RegExp]>([
  ["approvals: {mode: banana}\n", {}, /`approvals\.mode` is "banana"; use one of manual, smart, off, plan/],
  ["approvals: {profile: strict}\n", {}, /`approvals\.profile` is "strict"; use one of plan, default/],
  ["approvals: banana\n", {}, /`approvals` must be a mapping/],
  ["approvals: {rulez: []}\n", {}, /`approvals\.rulez` is not a setting[^]*did you mean `rules`\?/],
  ["aprovals: {profile: plan}\n", {}, /`aprovals` is not a setting[^]*did you mean `approvals`\?/],
  ["approvals: {rules: deny}\n", {}, /`approvals\.rules` is/],
  ["terminal: {backend: dokcer}\n", {}, /did you mean docker\?/],
  ["terminal: {sandbox_network: flase}\n", {}, /`terminal\.sandbox_network`/],
  ["worktree: please\n", {}, /`worktree`/],
  ["", { HERMES_SAFE_MODE: "yse" }, /HERMES_SAFE_MODE is invalid; use 1 or 0/],
  ["model: {max_session_cost_usd: five}\n", {}, /`model\.max_session_cost_usd`/],
  [
    "",
    { TERMINAL_SANDBOX: "requierd" },
    /TERMINAL_SANDBOX is invalid for `terminal\.sandbox`; .*did you mean required\?/,
  ],
])("%j %j prevents a start", async (text, variables, message) => {
  await using fixture = await temporaryHome({ config: text })
  expect(startRefusal((await load(fixture, variables)).problems)).toMatch(message)
})

test.each(["display: {tool_progress: banana}\n", "agent: {max_turns: many}\n", "approvals: {mode: smart}\n", "a: 1\n"])(
  "%j does not prevent a start",
  async (text) => {
    await using fixture = await temporaryHome({ config: text })
    expect(startRefusal((await load(fixture)).problems)).toBeUndefined()
  },
)

test.each([
  ["terminal: {sandbox: off, sandbox_network: false}\n", ["terminal.sandbox_network"]],
  ["terminal: {backend: docker, sandbox_network: false}\n", ["terminal.sandbox_network"]],
  ["terminal: {backend: docker, sandbox_network: false, docker_network: false}\n", []],
  ["terminal: {sandbox_network: false}\n", []],
  ["approvals: {rules: [{pattern: terminal, decision: deny}]}\n", []],
])("%j restricts less than it says: %j", async (text, expected) => {
  await using fixture = await temporaryHome({ config: text })
  const { problems } = await load(fixture)
  expect(problems.flatMap(({ path, restrictsLess }) => (restrictsLess === true ? [path] : []))).toEqual(expected)
})

test.each<[string, string, unknown, string[]]>([
  ["agent: {max_turns: many}\n", "agent.max_turns", 90, ["agent.max_turns"]],
  ["agent: {max_turns: '12'}\n", "agent.max_turns", 12, []],
  ["agent: {max_turns: 0}\n", "agent.max_turns", 1, ["agent.max_turns"]],
  ["agent: {max_turns: 1.5}\n", "agent.max_turns", 90, ["agent.max_turns"]],
  ["delegation: {max_spawn_depth: 9}\n", "delegation.max_spawn_depth", 3, ["delegation.max_spawn_depth"]],
  ["display: {tool_progress: off}\n", "display.tool_progress", "off", []],
  ["display: {tool_progress: loud}\n", "display.tool_progress", "all", ["display.tool_progress"]],
  ["display: {mouse_tracking: on}\n", "display.mouse_tracking", "all", []],
  ["approvals: {mode: off}\n", "approvals.mode", "off", []],
  ["agent: {reasoning_effort: off}\n", "agent.reasoning_effort", "none", []],
  ["agent: {tool_use_enforcement: [gpt, qwen]}\n", "agent.tool_use_enforcement", ["gpt", "qwen"], []],
  ["toolsets: web\n", "toolsets", ["web"], []],
  ["max_concurrent_sessions: yes\n", "max_concurrent_sessions", null, ["max_concurrent_sessions"]],
  ["terminal: 5\n", "terminal.timeout", 180, ["terminal"]],
  ["terminal:\n", "terminal.timeout", 180, ["terminal"]],
  ["providers: []\n", "providers", {}, ["providers"]],
  ["model: [a]\n", "model.default", "", ["model"]],
  ["auxiliary: {vision: {timeout: soon, model: m}}\n", "auxiliary.vision.timeout", 120, ["auxiliary.vision.timeout"]],
  ["model: {max_tokens: null}\n", "model.max_tokens", null, []],
])("%j sets %s = %j", async (text, path, expected, problems) => {
  await using fixture = await temporaryHome({ config: text })
  const config = await load(fixture)
  expect([config.lookup(path), paths(config)]).toEqual([expected, problems])
})

test("a setting filled from a variable is text and still becomes a number", async () => {
  await using fixture = await temporaryHome({ config: "agent: {max_turns: '${TURNS}'}\nmodel: {api_key: '${KEY}'}\n" })
  const config = await load(fixture, { TURNS: "33", KEY: "sk-secret" })
  expect([config.get("agent.max_turns"), config.get("model.api_key"), config.user()["model"]]).toEqual([
    33,
    "sk-secret",
    { api_key: "${KEY}" },
  ])
})

test("returned values are frozen, copies are not", async () => {
  await using fixture = await temporaryHome({ config: "providers: {x: {api: http://h/v1}}\n" })
  const config = await load(fixture)
  const copy = config.effective()
  copy["providers"] = 1
  expect(() => Object.assign(config.lookup("providers.x") as object, { api: "other" })).toThrow()
  expect(config.lookup("providers.x.api")).toBe("http://h/v1")
})

test("two homes in one process do not see each other", async () => {
  await using one = await temporaryHome({ config: "model: one\n" })
  await using two = await temporaryHome({ config: "model: two\n" })
  const [first, second] = await Promise.all([load(one, { X: "1" }), load(two)])
  expect([first.get("model.default"), second.get("model.default")]).toEqual(["one", "two"])
})

test("a prototype cannot be set through the file", async () => {
  await using fixture = await temporaryHome({
    config: "__proto__: {polluted: yes}\nagent: {__proto__: {polluted: yes}}\n",
  })
  const config = await load(fixture)
  expect([Reflect.get({}, "polluted"), config.lookup("agent.polluted"), config.get("agent.max_turns")]).toEqual([
    undefined,
    undefined,
    90,
  ])
})

test("a broken file is ignored completely, copied once and never changed", async () => {
  const text = "agent:\n  max_turns: 5\n bad: [\n"
  await using fixture = await temporaryHome({ config: text })
  const config = await load(fixture)
  await load(fixture)
  const copies = readdirSync(fixture.path).filter((name) => name.includes(".corrupt."))
  expect(config.get("agent.max_turns")).toBe(90)
  expect(config.broken).toMatchObject({ line: 3, backup: join(fixture.path, copies[0] ?? "") })
  const warning = brokenFileWarning(resolveHome(environmentFrom(fixture.env)), config.broken!)
  expect(warning).toMatch(/^~\/\.hermes\/config\.yaml cannot be used .* line 3, column \d+: .*\.bak\)$/)
  expect(copies).toEqual([expect.stringMatching(/^config\.yaml\.corrupt\.\d{8}-\d{6}\.bak$/)])
  expect([
    readFileSync(join(fixture.path, "config.yaml"), "utf8"),
    readFileSync(join(fixture.path, copies[0] ?? ""), "utf8"),
  ]).toEqual([text, text])
})

test.each<[string, (path: string) => void]>([
  ["binary", (path) => writeFileSync(path, Buffer.from([0, 1, 2, 0xff, 0xfe]))],
  ["not UTF-8", (path) => writeFileSync(path, Buffer.from("a: 1\nb: \xe9\n", "latin1"))],
  ["10 MB", (path) => writeFileSync(path, "a: 1\n".repeat(2_000_000))],
  ["a directory", (path) => mkdirSync(path)],
  ["a loop of links", (path) => symlinkSync("config.yaml", path)],
  ["a list", (path) => writeFileSync(path, "- 1\n")],
])("a hostile file (%s) leaves the defaults and is reported", async (_, make) => {
  await using fixture = await temporaryHome()
  make(join(fixture.path, "config.yaml"))
  const config = await load(fixture)
  expect(config.get("agent.max_turns")).toBe(90)
  expect(config.broken?.message).toMatch(/\w/)
})

test("a link to a broken file is reported but not copied", async () => {
  await using fixture = await temporaryHome()
  writeFileSync(join(fixture.workdir, "real.yaml"), "a: [\n")
  symlinkSync(join(fixture.workdir, "real.yaml"), join(fixture.path, "config.yaml"))
  const config = await load(fixture)
  expect([config.broken?.backup, lstatSync(join(fixture.path, "config.yaml")).isSymbolicLink()]).toEqual([
    undefined,
    true,
  ])
})

test("the parse cache is used while the file is unchanged, has no expanded secret, and is private", async () => {
  await using fixture = await temporaryHome({
    config: "model: {api_key: '${KEY}'}\nagent: {verbose: yes, verbose: no}\n",
  })
  const environment = environmentFrom(fixture.env)
  ensureHome(resolveHome(environment), environment)
  const cache = join(fixture.path, "cache", "config.parsed.json")
  const first = await load(fixture, { KEY: "sk-planted" })
  const stored = readFileSync(cache, "utf8")
  expect([stored.includes("sk-planted"), statSync(cache).mode & 0o777]).toEqual([false, 0o600])
  writeFileSync(cache, stored.replaceAll("${KEY}", "from-cache"))
  const second = await load(fixture)
  expect([first.get("model.api_key"), second.get("model.api_key"), paths(second)]).toEqual([
    "sk-planted",
    "from-cache",
    paths(first),
  ])
  writeFileSync(join(fixture.path, "config.yaml"), "model: {api_key: changed}\n")
  expect((await load(fixture)).get("model.api_key")).toBe("changed")
  writeFileSync(cache, "{damaged")
  expect((await load(fixture)).get("model.api_key")).toBe("changed")
  rmSync(join(fixture.path, "cache"), { recursive: true })
  expect([(await load(fixture)).get("model.api_key"), existsSync(cache)]).toEqual(["changed", false])
})
