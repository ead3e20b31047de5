import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { createCliHome, type CliHome } from "../../../../test/support/cli-home.ts"

const CONFIG =
  "# my settings\nagent:\n  max_turns: 7 # enough\nmodel:\n  default: test/model\n  api_key: sk-abcdefghijklmnop1234\n"

function homeWith(files: Record<string, string>): CliHome {
  const home = createCliHome()
  for (const [name, text] of Object.entries(files)) writeFileSync(home.home.file(name), text)
  return home
}

const file = (home: CliHome, name: string): string => readFileSync(home.home.file(name), "utf8")

describe("show", () => {
  test("has sections, masks secrets, and lists changed settings", async () => {
    using home = homeWith({
      "config.yaml": `${CONFIG}logging:\n  level: DEBUG\n`,
      ".env": "OPENAI_API_KEY=sk-0123456789abcdefghij\n",
    })
    const { code, out, err } = await home.run(["config"])
    expect({ code, err }).toEqual({ code: 0, err: "" })
    for (const title of [
      "Paths",
      "API keys",
      "Model",
      "Agent",
      "Terminal",
      "Compression",
      "Display",
      "Other changes",
    ]) {
      expect(out).toMatch(new RegExp(`^${title}$`, "m"))
    }
    expect(out).toMatch(/OPENAI_API_KEY +sk-0\.\.\.ghij\n/)
    expect(out).toMatch(/ANTHROPIC_API_KEY +\(not set\)\n/)
    expect(out).toMatch(/agent\.max_turns +7\n/)
    expect(out).toMatch(/logging\.level +DEBUG\n/)
    expect(out).not.toContain("abcdefghijklmnop")
  })

  test("--json and --origin", async () => {
    using home = homeWith({ "config.yaml": CONFIG })
    const effective: unknown = JSON.parse((await home.run(["config", "show", "--json"])).out)
    expect(effective).toMatchObject({
      agent: { max_turns: 7 },
      model: { default: "test/model", api_key: "sk-a...1234" },
    })
    const origins: unknown = JSON.parse((await home.run(["config", "show", "--json", "--origin"])).out)
    expect(origins).toMatchObject({
      "agent.max_turns": { value: 7, origin: "file" },
      "display.streaming": { origin: "default" },
    })
    expect((await home.run(["config", "--origin"])).out).toMatch(/agent\.max_turns +7 {2}\(file\)\n/)
  })

  test("--ignore-user-config shows the defaults", async () => {
    using home = homeWith({ "config.yaml": CONFIG })
    const { out } = await home.run(["config", "--ignore-user-config", "--json"])
    expect((JSON.parse(out) as { agent: { max_turns: number } }).agent.max_turns).not.toBe(7)
  })
})

describe("get", () => {
  test.each([
    ["agent.max_turns", "7\n"],
    ["model.default", "test/model\n"],
    ["display.streaming", "true\n"],
    ["OPENAI_API_KEY", "sk-0...ghij\n"],
  ])("%s", async (path, out) => {
    using home = homeWith({ "config.yaml": CONFIG, ".env": "OPENAI_API_KEY=sk-0123456789abcdefghij\n" })
    expect(await home.run(["config", "get", path])).toEqual({ code: 0, out, err: "" })
  })

  test("a key that is not set exits 1 and suggests a similar one", async () => {
    using home = createCliHome()
    expect(await home.run(["config", "get", "agent.max_turn"])).toEqual({
      code: 1,
      out: "",
      err: "`agent.max_turn` is not set. Did you mean `agent.max_turns`?\n",
    })
  })
})

describe("get with a file that has problems", () => {
  test("a file that does not parse exits 1, because the value in it is unknown", async () => {
    using home = homeWith({ "config.yaml": "model: {a\n", ".env": "OPENAI_API_KEY=sk-0123456789abcdefghij\n" })
    expect(await home.run(["config", "get", "agent.max_turns"])).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(
        /^.*config\.yaml cannot be used and all its settings are being ignored; line 2, /,
      ) as string,
    })
    expect((await home.run(["config", "get", "OPENAI_API_KEY"])).out).toBe("sk-0...ghij\n")
  })

  test("a problem with the setting is on stderr", async () => {
    using home = homeWith({ "config.yaml": "approvals:\n  profile: plam\nagent:\n  max_turns: -1\n" })
    expect(await home.run(["config", "get", "approvals.profile"])).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^`approvals\.profile` is "plam"; use one of .*\n$/) as string,
    })
    expect((await home.run(["config", "get", "display.streaming"])).err).toBe("")
  })
})

describe("set and unset", () => {
  test("change one value and keep everything else in the file", async () => {
    using home = homeWith({ "config.yaml": CONFIG })
    expect(await home.run(["config", "set", "agent.max_turns", "9"])).toMatchObject({
      code: 0,
      out: "Set agent.max_turns in ~/.hermes/config.yaml.\n",
    })
    expect(file(home, "config.yaml")).toBe(CONFIG.replace("7", "9"))
    expect(await home.run(["config", "unset", "agent.max_turns"])).toMatchObject({ code: 0 })
    expect((await home.run(["config", "unset", "agent.max_turns"])).code).toBe(1)
  })

  test("an API key goes to a private .env and is never printed", async () => {
    using home = createCliHome()
    const { code, out, err } = await home.run(["config", "set", "OPENAI_API_KEY", "sk-0123456789abcdefghij"])
    expect({ code, out, err }).toEqual({ code: 0, out: "Set OPENAI_API_KEY in ~/.hermes/.env.\n", err: "" })
    expect(file(home, ".env")).toContain("OPENAI_API_KEY=sk-0123456789abcdefghij")
    expect(statSync(home.home.file(".env")).mode & 0o077).toBe(0)
  })

  test.each<[readonly string[], number]>([
    [["set", "a", "[1, 2"], 2],
    [["unset", "no.such.key"], 1],
  ])("%j exits %i", async (line, code) => {
    using home = createCliHome()
    expect((await home.run(["config", ...line])).code).toBe(code)
  })

  test("a value that no request could use is refused", async () => {
    using home = homeWith({ "config.yaml": "providers:\n  office: { base_url: http://10.0.0.1/v1 }\n" })
    const set = async (key: string, value: string) => await home.run(["config", "set", key, value])
    expect(await set("model.base_url", "not an address")).toEqual({
      code: 2,
      out: "",
      err: '"not an address" is not an http(s) address, such as http://127.0.0.1:11434/v1.\n',
    })
    expect((await set("auxiliary.vision.base_url", "ftp://x")).code).toBe(2)
    expect((await set("model.provider", "antropic")).err).toMatch(
      /There is no provider `antropic`.* Did you mean `anthropic`\?/,
    )
    expect((await set("auxiliary.vision.provider", "nosuch")).code).toBe(2)
    expect((await set("model.api_mode", "chat_completion")).err).toContain("Did you mean `chat_completions`?")
    expect((await set("approvals.timeout", "99999999")).err).toContain("up to 2000000")
    for (const [key, value] of [
      ["model.provider", "office"],
      ["model.provider", "claude"],
      ["model.base_url", "${MY_SERVER}"],
      ["model.base_url", ""],
      ["auxiliary.vision.provider", "none"],
    ] as const)
      expect([key, value, (await set(key, value)).code]).toEqual([key, value, 0])
  })

  test("a setting that is also stored in .env says so", async () => {
    using home = createCliHome()
    expect((await home.run(["config", "set", "terminal.sandbox", "off"])).out).toBe(
      "Set terminal.sandbox in ~/.hermes/config.yaml.\nAlso set TERMINAL_SANDBOX in ~/.hermes/.env, where the Python edition reads it.\n",
    )
    expect((await home.run(["config", "unset", "terminal.sandbox"])).out).toBe(
      "Removed terminal.sandbox from ~/.hermes/config.yaml.\nAlso removed TERMINAL_SANDBOX from ~/.hermes/.env.\n",
    )
  })

  test("a file that does not parse is not changed", async () => {
    using home = homeWith({ "config.yaml": "a: [1\nb: 2\n" })
    const { code, err } = await home.run(["config", "set", "agent.max_turns", "9"])
    expect(code).toBe(1)
    expect(err.trimEnd().split("\n")).toHaveLength(1)
    expect(file(home, "config.yaml")).toBe("a: [1\nb: 2\n")
  })
})

test("path and env-path print only the path, even without a home", async () => {
  using home = createCliHome()
  const nowhere = { HERMES_HOME: `${home.directory}/nowhere` }
  expect(await home.run(["config", "path"], { variables: nowhere })).toEqual({
    code: 0,
    out: `${home.directory}/nowhere/config.yaml\n`,
    err: "",
  })
  expect(await home.run(["config", "env-path"])).toEqual({ code: 0, out: `${home.home.path}/.env\n`, err: "" })
})

describe("check", () => {
  test("a fresh home has no problems", async () => {
    using home = createCliHome()
    expect(await home.run(["config", "check"])).toEqual({
      code: 0,
      out: "~/.hermes/config.yaml does not exist; all settings have their defaults.\nNo problems.\n",
      err: "",
    })
  })

  test.each([
    ["agent:\n  max_turns: 5\n", "Nothing in it is outdated."],
    ["model_catalog:\n  ttl_hours: 24\n", "`hermes config migrate` brings it up to date."],
  ])("a file without a version is outdated only by its content: %j", async (text, line) => {
    using home = homeWith({ "config.yaml": text })
    const { out } = await home.run(["config", "check"])
    expect(out.split("\n").slice(0, 2)).toEqual([
      expect.stringMatching(/^~\/\.hermes\/config\.yaml states no version, this release writes \d+\.$/),
      line,
    ])
  })

  test("errors exit 1, warnings do not", async () => {
    using home = homeWith({ "config.yaml": "agnet:\n  x: 1\n" })
    const warned = await home.run(["config", "check"])
    expect(warned.code).toBe(0)
    expect(warned.err).toMatch(/^⚠ agnet: /m)
    writeFileSync(home.home.file("config.yaml"), "custom_providers:\n  name: x\n")
    const wrong = await home.run(["config", "check"])
    expect(wrong.code).toBe(1)
    expect(wrong.err).toMatch(/^✗ custom_providers/m)
  })

  test("a file that does not parse, or a directory instead of it, exits 1 with one line", async () => {
    using home = homeWith({ "config.yaml": "a: [1\n" })
    const broken = await home.run(["config", "check"])
    expect(broken).toMatchObject({ code: 1, out: "" })
    expect(broken.err).toMatch(/^✗ ~\/\.hermes\/config\.yaml does not parse \(line \d+/)
    using other = createCliHome()
    mkdirSync(other.home.file("config.yaml"))
    expect((await other.run(["config", "check"])).code).toBe(1)
  })
})

describe("migrate", () => {
  test("an old file is converted, and a copy of it is kept", async () => {
    using home = homeWith({ "config.yaml": "_config_version: 10\nmodel_catalog:\n  ttl_hours: 24\n" })
    const { code, out } = await home.run(["config", "migrate", "--yes"])
    expect(code).toBe(0)
    expect(out).toMatch(/^Migrated from version 10 to \d+:\n/)
    expect(out).toMatch(/The old file is kept as ~\/\.hermes\/config\.yaml\.bak\./)
    expect((await home.run(["config", "migrate"])).out).toBe("~/.hermes/config.yaml needs no change.\n")
  })
})

describe("--json", () => {
  const json = async (home: CliHome, ...line: readonly string[]): Promise<unknown> =>
    JSON.parse((await home.run(["config", ...line, "--json"])).out)

  test("every command that accepts it prints one document", async () => {
    using home = homeWith({ "config.yaml": "agent:\n  max_turns: 7\n" })
    const path = home.home.file("config.yaml")
    expect(await json(home, "path")).toEqual({ path })
    expect(await json(home, "env-path")).toEqual({ path: home.home.file(".env") })
    expect(await json(home, "get", "agent.max_turns")).toBe(7)
    expect(await json(home, "set", "agent.max_turns", "8")).toEqual({
      file: path,
      set: ["agent.max_turns"],
      warnings: [],
      mirrored: [],
      secrets: [],
    })
    expect(await json(home, "unset", "agent.max_turns")).toEqual({
      file: path,
      removed: ["agent.max_turns"],
      warnings: [],
      mirrored: [],
    })
    expect(await json(home, "migrate")).toMatchObject({ changed: expect.any(Array), warnings: [] })
    expect(await json(home, "check")).toMatchObject({ path, valid: true, exists: true, problems: [] })
  })

  test("a broken file is reported, with exit code 1", async () => {
    using home = homeWith({ "config.yaml": "a: [" })
    const { code, out } = await home.run(["config", "check", "--json"])
    expect([code, JSON.parse(out)]).toMatchObject([1, { valid: false, broken: { line: 1 } }])
  })

  test("a command that has nothing to print refuses it", async () => {
    using home = createCliHome()
    expect((await home.run(["config", "edit", "--json"])).code).toBe(2)
  })
})

test("a change that removes protection is asked about at a terminal; scripts are not asked", async () => {
  using home = homeWith({ "config.yaml": "approvals:\n  mode: manual\n" })
  const set = ["config", "set", "approvals.mode", "off"]
  const declined = await home.run(set, { answers: ["n"] })
  expect([declined.code, declined.out, declined.err]).toEqual([
    1,
    "",
    expect.stringContaining("Nothing was changed.\n"),
  ])
  expect(file(home, "config.yaml")).toContain("mode: manual")
  const agreed = await home.run(set, { answers: ["y"] })
  expect([agreed.code, agreed.err]).toEqual([
    0,
    expect.stringMatching(/every command.*Change approvals\.mode anyway\?/su),
  ])
  expect(file(home, "config.yaml")).toMatch(/mode: false/u)
  const tightened = await home.run(["config", "set", "approvals.mode", "manual"], { answers: ["n"] })
  expect([tightened.code, tightened.err]).toEqual([0, ""])
  expect([(await home.run(set)).code, (await home.run([...set, "-y"], { answers: ["n"] })).code]).toEqual([0, 0])
  const invalid = await home.run(["config", "set", "approvals.profile", "fullauto"], { answers: ["n"] })
  expect([invalid.code, invalid.err]).toEqual([
    2,
    expect.stringMatching(/^\S*\s*invalid value for `approvals\.profile`/iu),
  ])
  await home.run(["config", "set", "terminal.sandbox", "required"])
  expect((await home.run(["config", "unset", "terminal.sandbox"], { answers: ["n"] })).code).toBe(1)
  expect(file(home, "config.yaml")).toContain("sandbox: required")
})

describe("a secret is stored in .env, and config.yaml refers to it", () => {
  const KEY = "sk-planted-0123456789"
  test.each([
    [
      "model: { provider: anthropic }\n",
      "model.api_key",
      KEY,
      "ANTHROPIC_API_KEY",
      /api_key: "\$\{ANTHROPIC_API_KEY\}"/u,
    ],
    ["model: { base_url: 'http://127.0.0.1:1/v1' }\n", "model.api_key", KEY, "CUSTOM_API_KEY", /\$\{CUSTOM_API_KEY\}/u],
    // The key of a proxy must not replace the key of the vendor.
    [
      "model: { provider: anthropic, base_url: 'http://127.0.0.1:1' }\n",
      "model.api_key",
      KEY,
      "MODEL_API_KEY",
      /\$\{MODEL_API_KEY\}/u,
    ],
    [
      "providers: { office: { key_env: OFFICE_KEY } }\n",
      "providers.office.api_key",
      KEY,
      "OFFICE_KEY",
      /OFFICE_KEY\}/u,
    ],
    ["", "providers.deepseek.api_key", KEY, "DEEPSEEK_API_KEY", /\$\{DEEPSEEK_API_KEY\}/u],
    [
      "",
      "providers.office",
      `{"base_url":"http://127.0.0.1:1/v1","api_keys":["${KEY}"],"headers":{"Authorization":"Bearer ${KEY}"}}`,
      "PROVIDERS_OFFICE_API_KEYS_1, PROVIDERS_OFFICE_HEADERS_AUTHORIZATION",
      /Authorization: Bearer \$\{PROVIDERS_OFFICE_HEADERS_AUTHORIZATION\}/u,
    ],
    ["", "mcp_servers.git.env.GITHUB_TOKEN", KEY, "MCP_GIT_GITHUB_TOKEN", /\$\{MCP_GIT_GITHUB_TOKEN\}/u],
  ])("%j: %s", async (config, path, value, variables, reference) => {
    using home = homeWith({ "config.yaml": config })
    const { code, out, err } = await home.run(["config", "set", path, value])
    expect([code, out]).toEqual([
      0,
      `Set ${path} in ~/.hermes/config.yaml.\nThe secret is stored in ~/.hermes/.env as ${variables}; config.yaml refers to it.\n`,
    ])
    expect(`${err}${file(home, "config.yaml")}`).not.toContain(KEY)
    expect(file(home, "config.yaml")).toMatch(reference)
    for (const variable of variables.split(", ")) expect(file(home, ".env")).toContain(`${variable}=${KEY}`)
  })

  test("a reference and an empty value are written as they are; a refused value stores nothing; unset names the variable", async () => {
    using home = homeWith({ "config.yaml": "model: { provider: anthropic }\n", ".env": "MY_KEY=k-0123456789\n" })
    expect((await home.run(["config", "set", "model.api_key", "${MY_KEY}"])).out).toBe(
      "Set model.api_key in ~/.hermes/config.yaml.\n",
    )
    expect(file(home, "config.yaml")).toContain("${MY_KEY}")
    const unset = await home.run(["config", "unset", "model.api_key"])
    expect(unset.err).toContain("MY_KEY still has the value; `hermes config unset MY_KEY` removes it from .env.")
    expect((await home.run(["config", "set", "agent.max_turns.api_key", KEY])).code).not.toBe(0)
    expect(file(home, ".env")).toBe("MY_KEY=k-0123456789\n")
    const json = await home.run(["config", "set", "model.api_key", KEY, "--json"])
    expect(JSON.parse(json.out)).toMatchObject({ set: ["model.api_key"], secrets: ["ANTHROPIC_API_KEY"] })
  })
})
