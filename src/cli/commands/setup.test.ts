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

test("the agent's questions change what was answered and keep a copy of the settings before", async () => {
  using home = createTestHome()
  writeFileSync(home.home.file("config.yaml"), "# mine\nagent:\n  max_turns: 5\n")
  const asked = await home.run(["setup", "agent"], { answers: ["12", "accept-edits"] })
  expect(asked.code).toBe(0)
  expect(readFileSync(home.home.file("config.yaml"), "utf8")).toMatch(
    /# mine\nagent:\n {2}max_turns: 12\n[^]*accept-edits/,
  )
  const copy = readdirSync(home.home.path).find((name) => name.startsWith("config.yaml.bak.")) ?? ""
  expect(readFileSync(home.home.file(copy), "utf8")).toContain("max_turns: 5")
})

test("an unknown permission profile is a usage error", async () => {
  using home = createTestHome()
  expect((await home.run(["setup", "agent"], { answers: ["", "wild"] })).code).toBe(2)
})
