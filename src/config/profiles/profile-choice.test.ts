import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome, type TemporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../environment.ts"
import { chooseProfile } from "./profile-choice.ts"

async function machine(active?: string): Promise<TemporaryHome> {
  const place = await temporaryHome({ files: active === undefined ? {} : { active_profile: active } })
  for (const name of ["coder", "writer"]) mkdirSync(join(place.path, "profiles", name), { recursive: true })
  return place
}

function choose(place: TemporaryHome, argv: readonly string[], variables: Record<string, string> = {}) {
  const chosen = chooseProfile(argv, environmentFrom({ HOME: place.userHome, ...variables }))
  if (!chosen.ok) return { refused: chosen.error.exitCode }
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
  [["x", "--args", "-p", "coder"], "coder", ["x", "--args"]],
  [["-p", "two words"], "default", ["-p", "two words"]],
  [["-p", "../etc"], "default", ["-p", "../etc"]],
  [["-p"], "default", ["-p"]],
])("%j", async (argv, profile, rest) => {
  await using place = await machine()
  expect(choose(place, argv)).toEqual({ profile, rest })
})

test("the active profile is used unless a flag, a profile home or a supervisor says otherwise", async () => {
  await using place = await machine("coder\n")
  expect(choose(place, [])).toEqual({ profile: "coder", rest: [] })
  expect(choose(place, ["-p", "default"])).toEqual({ profile: "default", rest: [] })
  expect(choose(place, [], { HERMES_HOME: join(place.path, "profiles", "writer") })).toEqual({
    profile: "writer",
    rest: [],
  })
  expect(choose(place, [], { HERMES_S6_SUPERVISED_CHILD: "1" })).toEqual({ profile: "default", rest: [] })
})

test("a missing profile is refused with the command that makes it", async () => {
  await using place = await machine("gone")
  const refused = chooseProfile([], environmentFrom({ HOME: place.userHome }))
  expect(refused).toMatchObject({
    ok: false,
    error: { exitCode: 1, message: expect.stringContaining("profile create gone") },
  })
  expect(choose(place, ["-p", "nobody"])).toEqual({ refused: 1 })
  expect(choose(place, ["--profile=no/name"])).toEqual({ refused: 1 })
})

test("an active_profile that is not text or no name does not keep the program from starting", async () => {
  await using place = await machine()
  writeFileSync(join(place.path, "active_profile"), Buffer.from([0xff, 0xfe, 0x41]))
  expect(choose(place, [])).toEqual({ profile: "default", rest: [] })
  writeFileSync(join(place.path, "active_profile"), "../../etc")
  const chosen = chooseProfile([], environmentFrom({ HOME: place.userHome }))
  expect(chosen).toMatchObject({ ok: true, value: { warning: expect.stringContaining("does not name a profile") } })
})

test("a home given explicitly that is no profile stays the home", async () => {
  await using place = await machine()
  const custom = join(place.workdir, "data")
  expect(choose(place, [], { HERMES_HOME: custom })).toEqual({ profile: "default", rest: [] })
  mkdirSync(join(custom, "profiles", "own"), { recursive: true })
  expect(choose(place, ["-p", "own"], { HERMES_HOME: custom })).toEqual({ profile: "own", rest: [] })
})
