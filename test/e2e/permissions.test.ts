import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, NO_SANDBOX, settingsFor } from "./hermes-process.ts"

const explain = ["permissions", "explain", "--sandbox", "off"]

describe("hermes permissions explain", () => {
  test.each([
    { args: ["--json", "--", "rm -rf build"], expected: { decision: "ask", hard: false, rule: "recursive delete" } },
    { args: ["--json", "--", "rm", "-rf", "/"], expected: { decision: "deny", hard: true, layer: "floor" } },
    { args: ["--json", "--yolo", "--", "rm -rf build"], expected: { decision: "allow" } },
    { args: ["--json", "--plan", "--", "touch a"], expected: { decision: "deny", layer: "plan" } },
    { args: ["--json", "--deny", "terminal:git *", "--", "git status"], expected: { decision: "deny", layer: "cli" } },
    {
      args: ["--json", "--tool", "write_file", "--args", '{"path":"~/.ssh/id_rsa","content":""}'],
      expected: { decision: "deny", hard: true },
    },
    {
      args: ["--json", "--yolo", "--tool", "write_file", "--args", '{"path":"~/.bashrc","content":""}'],
      expected: { decision: "deny", hard: true, layer: "floor" },
    },
    {
      args: ["--json", "--tool", "write_file", "--args", '{"path":".git/hooks/pre-commit","content":""}'],
      expected: { decision: "ask", rule: "executed file" },
    },
    {
      args: ["--json", "--tool", "read_file", "--args", '{"path":"~/.mozilla/firefox/x/logins.json"}'],
      expected: { decision: "deny", hard: true },
    },
    {
      args: ["--json", "--permission-profile", "auto", "--tool", "write_file", "--args", '{"path":"~/x","content":""}'],
      expected: { decision: "ask", rule: "write outside the workspace" },
    },
  ])("$args", async ({ args, expected }) => {
    await using home = await temporaryHome()
    const { stdout, code, stderr } = await hermes(home, [...explain, ...args])
    expect([code, stderr]).toEqual([0, ""])
    expect(JSON.parse(stdout)).toMatchObject(expected)
  })

  test("says in words what would happen", async () => {
    await using home = await temporaryHome()
    const { stdout } = await hermes(home, [...explain, "--cwd", "/w", "--", "cd src && sudo rm -rf x"])
    expect(stdout).toMatch(/^ask\n {2}rule {4}recursive delete \(detector\)\n {2}reason {2}/)
    expect(stdout).toContain("  runs    sudo rm -rf x  [in /w/src]\n")
  })

  test("answers each line of standard input, also those that are no requests", async () => {
    await using home = await temporaryHome()
    const requests = [
      '{"command":"ls"}',
      "nonsense",
      '{"command":"rm x","cwd":"/w","before":["rm(){ command rm -rf /; }"]}',
      '{"command":7}',
      '{"tool":"read_file","args":{"path":"a.txt"}}',
      '{"tool":"no_such_tool"}',
    ]
    const { stdout, code } = await hermes(home, [...explain, "--stdin"], { stdin: `${requests.join("\n")}\n` })
    const answers = stdout
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line))
    expect(code).toBe(0)
    expect(answers).toMatchObject([
      { decision: "allow", hard: false, understood: { commands: [{ argv: ["ls"], wrappers: [] }], doubts: [] } },
      { error: "the line is not JSON" },
      { decision: "deny", hard: true },
      { error: "a request needs `command`, or `tool` and `args`" },
      { decision: "allow" },
      { error: expect.stringMatching(/^there is no tool "no_such_tool"/) },
    ])
  })

  test.each([
    { args: ["--allow", "teminal:x", "--", "ls"], says: /`teminal:x` is not a permission pattern/ },
    { args: ["--permission-profile", "bogus", "--", "ls"], says: /Unknown permission profile "bogus"/ },
    { args: ["--plan", "--yolo", "--", "ls"], says: /cannot be used together/ },
    { args: [], says: /Give a command after --/ },
    { args: ["--tool", "terminal", "--args", "7"], says: /--args must be a JSON object/ },
  ])("$args exits 2", async ({ args, says: message }) => {
    await using home = await temporaryHome()
    const { stdout, stderr, code } = await hermes(home, [...explain, ...args])
    expect([code, stdout]).toEqual([2, ""])
    expect(stderr).toMatch(message)
  })

  test("looks in the project for the programs, the submodules and the files of archives that a line uses", async () => {
    await using home = await temporaryHome()
    const at = (name: string): string => join(home.workdir, name)
    mkdirSync(at("node_modules/.bin"), { recursive: true })
    mkdirSync(at(".git"))
    writeFileSync(at("node_modules/.bin/installed"), "")
    writeFileSync(at("package.json"), '{"devDependencies":{"named":"1"}}')
    // An entry of the index of git ends with the length of the name, the name and a zero byte.
    writeFileSync(at(".git/index"), "\0\u0008tools/cc\0")
    writeFileSync(at(".git/config"), '[remote "origin"]\n\turl = git@git.example.com:me/app.git\n')
    writeFileSync(at(".gitmodules"), '[submodule "x"]\n\tpath = x\n\turl = https://evil.example/x.git\n')
    writeFileSync(at("a.tar.xz"), Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]))
    const commands = {
      "npx installed && npx named && npx named@2": "allow",
      "npx missing": "ask",
      "npx installed@2": "ask",
      "CC=tools/cc make": "allow",
      "CC=tools/ld make": "ask",
      "git submodule update": "allow",
      "git submodule update --init": "ask",
      "tar xf a.tar.xz -C vendor": "allow",
      "tar xf a.tar.xz": "ask",
      "tar xf missing.tar.xz": "allow",
    }
    const requests = Object.keys(commands).map((command) => JSON.stringify({ command, cwd: home.workdir }))
    const { stdout } = await hermes(home, [...explain, "--cwd", home.workdir, "--stdin"], {
      stdin: `${requests.join("\n")}\n`,
    })
    const decisions = stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly decision: string }).decision)
    expect(Object.fromEntries(Object.keys(commands).map((command, index) => [command, decisions[index]]))).toEqual(
      commands,
    )
  })

  test("rules that cannot be used are a failure, not a permission", async () => {
    await using home = await temporaryHome({ files: { "permissions.yaml": "terminl: deny\n" } })
    const { stderr, code } = await hermes(home, [...explain, "--", "ls"])
    expect(code).toBe(1)
    expect(stderr).toMatch(/permissions\.yaml[^\n]*did you mean `terminal`\?/)
  })
})

test("hermes permissions shows the profile and every rule with its source", async () => {
  await using home = await temporaryHome({
    config:
      "approvals:\n  profile: careful\n  profiles: {careful: {tool_rules: [{pattern: network, decision: ask}]}}\n",
    files: { "permissions.yaml": "terminal:git push*: deny\n" },
  })
  const { stdout } = await hermes(home, ["permissions"])
  expect(stdout).toMatch(/^Permission profile: careful /)
  expect(stdout).toMatch(/ask +network +the permission profile/)
  expect(stdout).toMatch(/deny +terminal:git push\* +permissions\.yaml/)
})

test("--deny holds in every profile, and the log shows the decision", async () => {
  await using model = await startModelServer([callsTool("terminal", { command: "touch made" }), says("No.")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  const run = await hermes(home, ["-z", "go", "--yolo", "--deny", "terminal:touch *"], { stdin: "inherit-null" })
  expect([run.code, existsSync(join(home.workdir, "made"))]).toEqual([0, false])
  const { stdout } = await hermes(home, ["permissions", "log", "--decision", "deny", "--json"])
  expect(JSON.parse(stdout)).toMatchObject([
    { tool: "terminal", decision: "deny", rule: "terminal:touch *", layer: "cli", profile: "full-auto" },
  ])
  expect((await hermes(home, ["audit"])).stdout).toContain("touch made")
})

test("in the profile auto the auxiliary model answers, and the log shows it", async () => {
  const remove = callsTool("terminal", { command: "rm -r build" })
  const destroy = callsTool("terminal", { command: "rm -r build; rm -rf /" })
  await using model = await startModelServer([remove, says("APPROVE"), destroy, says("Gone.")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
  const run = await hermes(home, ["-z", "go", "--permission-profile", "auto"], { stdin: "inherit-null" })
  expect([run.code, run.stdout, existsSync(join(home.workdir, "build"))]).toEqual([0, "Gone.\n", false])
  expect(model.requests).toHaveLength(4)
  const { stdout } = await hermes(home, ["permissions", "log"])
  expect(stdout).toMatch(/allow +classifier +terminal +\{"command":"rm -r build"\}/)
  expect(stdout).toMatch(/deny +floor +terminal/)
  const explained = await hermes(home, [...explain, "--permission-profile", "auto", "--", "rm -r build"])
  expect(explained.stdout).toMatch(/^deny, unless the auxiliary model answers first\n/)
})

test("always saves the rule that the question shows", async () => {
  const push = callsTool("terminal", { command: "git push --force origin main" })
  await using model = await startModelServer([push, says("Done."), push, says("Again.")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  await using terminal = await openTerminal({ command: hermesCommand(), args: [], env: home.env, cwd: home.workdir })
  terminal.type("push")
  terminal.press("enter")
  await terminal.waitFor(/"Always" saves this rule:\s+\|?\s*terminal:git push --force origin main/)
  await terminal.waitFor(/\[a\]lways, or \[d\]eny\?/)
  terminal.type("a")
  terminal.press("enter")
  await terminal.waitFor("Done.")
  expect(readFileSync(join(home.path, "config.yaml"), "utf8")).toContain("terminal:git push --force origin main")
  terminal.type("again")
  terminal.press("enter")
  await terminal.waitFor("Again.")
})

test("the workspace cannot loosen what the user set", async () => {
  await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" }), says("No.")])
  await using home = await temporaryHome({
    config: settingsFor(model, NO_SANDBOX),
    workFiles: { "build/x": "x", ".hermes/permissions.yaml": "terminal: allow\nterminal:rm *: allow\n" },
  })
  await hermes(home, ["-z", "clean"], { stdin: "inherit-null" })
  expect(existsSync(join(home.workdir, "build/x"))).toBe(true)
})
