import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"
import { createCliHome } from "../../../test/support/cli-home.ts"
import { startModelServer } from "../../../test/support/model-server/server.ts"
import { refuses, says } from "../../../test/support/model-server/turn.ts"

test("without a terminal the equivalent commands are printed", async () => {
  using home = createCliHome()
  const asked = await home.run(["setup"])
  expect([asked.code, asked.out]).toEqual([1, ""])
  expect(asked.err).toContain("hermes config set model.provider")
  expect((await home.run(["setup", "--non-interactive"])).code).toBe(0)
})

test("a section of a later release is refused, and nothing is written", async () => {
  using home = createCliHome()
  expect(await home.run(["setup", "gateway"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("setup gateway") as string,
  })
  expect(readdirSync(home.home.path)).not.toContain("config.yaml")
})

test("without a terminal, a section lists its settings", async () => {
  using home = createCliHome()
  const asked = await home.run(["setup", "agent"])
  expect(asked.code).toBe(1)
  expect(asked.err).toContain("`hermes setup agent` needs a terminal.")
  expect(asked.err).toContain("\n  hermes config set approvals.profile VALUE\n")
  expect(asked.err).not.toContain("model.provider")
})

test("--non-interactive prints the configured model", async () => {
  using home = createCliHome()
  const variables = { OPENROUTER_API_KEY: "sk-or-0123456789" }
  const asked = await home.run(["setup", "--non-interactive"], { variables })
  expect([asked.code, asked.out]).toEqual([0, ""])
  expect(asked.err).toMatch(
    /^Model {8}\S+ \(openrouter\), key: OPENROUTER_API_KEY\nCommands {5}local\nPermissions {2}default\n$/,
  )
})

test("the agent questions save the answers and keep a copy of the previous settings", async () => {
  using home = createCliHome()
  writeFileSync(home.home.file("config.yaml"), "# mine\nagent:\n  max_turns: 5\n")
  const asked = await home.run(["setup", "agent"], { answers: ["12", "no", "accept-edits"] })
  expect(asked.code).toBe(0)
  expect(readFileSync(home.home.file("config.yaml"), "utf8")).toMatch(
    /# mine\nagent:\n {2}max_turns: 12\n[^]*compression:\n {2}enabled: false\n[^]*accept-edits/,
  )
  const copy = readdirSync(home.home.path).find((name) => name.startsWith("config.yaml.bak.")) ?? ""
  expect(readFileSync(home.home.file(copy), "utf8")).toContain("max_turns: 5")
})

test("a wrong answer is asked again, an empty one keeps the value, and the end of input skips the rest", async () => {
  using home = createCliHome()
  const asked = await home.run(["setup", "agent"], { answers: ["many", "7", "", "wild"] })
  expect(asked.code).toBe(0)
  expect(asked.err).toMatch(/\[90\]: Enter a whole number above zero\.\n[^]*\[90\]: [^]*profile "wild"\.\n/)
  expect(settings(home)).toBe("agent:\n  max_turns: 7\n")
})

test.each([
  [["docker", "busybox"], "terminal:\n  backend: docker\n  docker_image: busybox\n"],
  [["ssh", "box.local", "me", "y"], "terminal:\n  backend: ssh\n  ssh_host: box.local\n  ssh_user: me\n"],
  [["moon", "local", "off", "y"], "terminal:\n  backend: local\n  sandbox: false\n"],
])("where commands run: %j", async (answers, expected) => {
  using home = createCliHome()
  expect((await home.run(["setup", "terminal"], { answers })).code).toBe(0)
  expect(settings(home)).toBe(expected)
})

test("an incomplete answer to where commands run is not saved", async () => {
  using home = createCliHome()
  expect((await home.run(["setup", "terminal"], { answers: ["ssh"] })).code).toBe(0)
  expect(readdirSync(home.home.path)).not.toContain("config.yaml")
})

const settings = (home: ReturnType<typeof createCliHome>): string =>
  readFileSync(home.home.file("config.yaml"), "utf8").replace(/^_config_version: \d+\n/, "")

test("setup tools asks which toolsets new sessions do without", async () => {
  using home = createCliHome()
  const asked = await home.run(["setup", "tools"], { answers: ["todo, moon"] })
  expect(asked).toMatchObject({ code: 0, err: expect.stringContaining("There is no toolset moon;") as string })
  expect(settings(home)).toContain("- todo")
  await home.run(["setup", "tools"], { answers: ["file"] })
  expect(settings(home)).toMatch(/- file/u)
  expect(settings(home)).not.toContain("todo")
  await home.run(["setup", "tools"], { answers: ["none"] })
  expect(settings(home)).not.toContain("- file")
  expect((await home.run(["setup", "tools"])).err).toContain("hermes tools enable NAME")
})

test("the test message shows the answer, or why there is none, and leaves no session", async () => {
  await using model = await startModelServer([says("Hello \u001B[31mthere."), refuses(401, "no such key")])
  using home = createCliHome()
  const config = `model:\n  base_url: ${model.url}/v1\n  default: test-model\n  api_key: sk-test-0123456789\n`
  writeFileSync(home.home.file("config.yaml"), config)
  const answered = await home.run(["setup", "--quick"], { answers: ["y"] })
  expect(answered.out).toMatch(/^test-model: Hello .*there\.$/mu)
  expect(answered.out).not.toContain("\u001B[31m")
  const refused = await home.run(["setup", "--quick"], { answers: ["y"] })
  expect(refused.out).toMatch(/^The test failed: .*no such key/mu)
  expect((await home.run(["setup", "--quick"], { answers: ["n"] })).out).not.toContain("test-model: ")
  expect(model.requests).toHaveLength(2)
  expect(JSON.parse((await home.run(["sessions", "list", "--all", "--json"])).out)).toEqual([])
})
