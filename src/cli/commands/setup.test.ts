import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"
import { createTestHome } from "../../../test/support/command-run.ts"

test("without a terminal it says how to do it by hand", async () => {
  using home = createTestHome()
  const asked = await home.run(["setup"])
  expect([asked.code, asked.out]).toEqual([1, ""])
  expect(asked.err).toContain("hermes config set model.provider")
  expect((await home.run(["setup", "--non-interactive"])).code).toBe(0)
})

test("a part of a later release is refused, nothing is written", async () => {
  using home = createTestHome()
  expect(await home.run(["setup", "gateway"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("setup gateway") as string,
  })
  expect(readdirSync(home.home.path)).not.toContain("config.yaml")
})

test("with a model in the environment nothing is missing, and it says so", async () => {
  using home = createTestHome()
  const variables = { OPENROUTER_API_KEY: "sk-or-0123456789" }
  const asked = await home.run(["setup", "--non-interactive"], { variables })
  expect([asked.code, asked.out]).toEqual([0, ""])
  expect(asked.err).toMatch(
    /^Model {8}\S+ \(openrouter\), key: OPENROUTER_API_KEY\nCommands {5}local\nPermissions {2}default\n$/,
  )
})

test("the agent's questions change what was answered and keep a copy of the settings before", async () => {
  using home = createTestHome()
  writeFileSync(home.home.file("config.yaml"), "# mine\nagent:\n  max_turns: 5\n")
  const asked = await home.run(["setup", "agent"], { answers: ["12", "no", "accept-edits"] })
  expect(asked.code).toBe(0)
  expect(readFileSync(home.home.file("config.yaml"), "utf8")).toMatch(
    /# mine\nagent:\n {2}max_turns: 12\n[^]*compression:\n {2}enabled: false\n[^]*accept-edits/,
  )
  const copy = readdirSync(home.home.path).find((name) => name.startsWith("config.yaml.bak.")) ?? ""
  expect(readFileSync(home.home.file(copy), "utf8")).toContain("max_turns: 5")
})

test("a wrong answer is asked for again, an empty one keeps what is, and the end of input leaves the rest", async () => {
  using home = createTestHome()
  const asked = await home.run(["setup", "agent"], { answers: ["many", "7", "", "wild"] })
  expect(asked.code).toBe(0)
  expect(asked.err).toMatch(/\[90\]: Give a whole number above zero\.\n[^]*\[90\]: [^]*profile "wild"\.\n/)
  expect(settings(home)).toBe("agent:\n  max_turns: 7\n")
})

test.each([
  [["docker", "busybox"], "terminal:\n  backend: docker\n  docker_image: busybox\n"],
  [["ssh", "box.local", "me"], "terminal:\n  backend: ssh\n  ssh_host: box.local\n  ssh_user: me\n"],
  [["moon", "local", "off"], "terminal:\n  backend: local\n  sandbox: false\n"],
])("where commands run: %j", async (answers, expected) => {
  using home = createTestHome()
  expect((await home.run(["setup", "terminal"], { answers })).code).toBe(0)
  expect(settings(home)).toBe(expected)
})

const settings = (home: ReturnType<typeof createTestHome>): string =>
  readFileSync(home.home.file("config.yaml"), "utf8").replace(/^_config_version: \d+\n/, "")
