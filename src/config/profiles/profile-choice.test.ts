import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome, type TemporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../environment.ts"
import { chooseProfile } from "./profile-choice.ts"

async function machine(active?: string): Promise<TemporaryHome> {
  const fixture = await temporaryHome({ files: active === undefined ? {} : { active_profile: active } })
  for (const name of ["coder", "writer"]) mkdirSync(join(fixture.path, "profiles", name), { recursive: true })
  return fixture
}

function choose(fixture: TemporaryHome, argv: readonly string[], variables: Record<string, string> = {}) {
  const chosen = chooseProfile(argv, environmentFrom({ HOME: fixture.userHome, ...variables }))
  if (!chosen.ok) return { refused: chosen.error.kind }
  const { argv: rest, home, environment } = chosen.value
  expect(environment.get("HERMES_HOME")).toBe(home.path)
  return { profile: home.profile, rest }
}

test.each<[string[], string, string[]]>([
  [[], "default", []],
  [["-p", "coder", "chat"], "coder", ["chat"]],
  [["chat", "--profile", "coder"], "coder", ["chat"]],
  [["--profile=writer", "-z", "hi"], "writer", ["-z", "hi"]],
  [["-p", "Coder"], "coder", []],
  [["-p", "Default"], "default", []],
  [["-p", "coder", "chat", "-p", "writer"], "writer", ["chat"]],
  [["-z", "-p", "coder"], "default", ["-z", "-p", "coder"]],
  [["-m", "-p", "-p", "coder"], "coder", ["-m", "-p"]],
  [["-c", "name", "-p", "coder"], "coder", ["-c", "name"]],
  [["-c", "-p", "coder"], "coder", ["-c"]],
  [["--", "-p", "coder"], "default", ["--", "-p", "coder"]],
  [["mcp", "add", "x", "--args", "-p", "coder"], "default", ["mcp", "add", "x", "--args", "-p", "coder"]],
  [["mcp", "install", "x", "--args", "-p", "y"], "default", ["mcp", "install", "x", "--args", "-p", "y"]],
  [["x", "--args", "-p", "coder"], "coder", ["x", "--args"]],
  [["-p", "two words"], "default", ["-p", "two words"]],
  [["-p", "../etc"], "default", ["-p", "../etc"]],
  [["-p"], "default", ["-p"]],
])("%j", async (argv, profile, rest) => {
  await using fixture = await machine()
  expect(choose(fixture, argv)).toEqual({ profile, rest })
})

test("the active profile is used unless a flag, a profile home or a supervisor says otherwise", async () => {
  await using fixture = await machine("coder\n")
  expect(choose(fixture, [])).toEqual({ profile: "coder", rest: [] })
  expect(choose(fixture, ["-p", "default"])).toEqual({ profile: "default", rest: [] })
  expect(choose(fixture, [], { HERMES_HOME: join(fixture.path, "profiles", "writer") })).toEqual({
    profile: "writer",
    rest: [],
  })
  expect(choose(fixture, [], { HERMES_S6_SUPERVISED_CHILD: "1" })).toEqual({ profile: "default", rest: [] })
})

test("a missing profile is refused with the command that creates it", async () => {
  await using fixture = await machine("gone")
  const refused = chooseProfile([], environmentFrom({ HOME: fixture.userHome }))
  expect(refused).toMatchObject({
    ok: false,
    error: { kind: "failed", message: expect.stringContaining("profile create gone") },
  })
  expect(choose(fixture, ["-p", "missing"])).toEqual({ refused: "failed" })
  expect(choose(fixture, ["--profile=no/name"])).toEqual({ refused: "failed" })
})

test("an invalid active_profile does not prevent a start", async () => {
  await using fixture = await machine()
  writeFileSync(join(fixture.path, "active_profile"), Buffer.from([0xff, 0xfe, 0x41]))
  expect(choose(fixture, [])).toEqual({ profile: "default", rest: [] })
  writeFileSync(join(fixture.path, "active_profile"), "../../etc")
  const chosen = chooseProfile([], environmentFrom({ HOME: fixture.userHome }))
  expect(chosen).toMatchObject({ ok: true, value: { warning: expect.stringContaining("does not name a profile") } })
})

test("an explicit home that is not a profile is used", async () => {
  await using fixture = await machine()
  const custom = join(fixture.workdir, "data")
  expect(choose(fixture, [], { HERMES_HOME: custom })).toEqual({ profile: "default", rest: [] })
  mkdirSync(join(custom, "profiles", "own"), { recursive: true })
  expect(choose(fixture, ["-p", "own"], { HERMES_HOME: custom })).toEqual({ profile: "own", rest: [] })
})
