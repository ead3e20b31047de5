import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { createCliHome } from "../../../../test/support/cli-home.ts"

test("bare profile prints the current one", async () => {
  using home = createCliHome()
  expect(await home.run(["profile"])).toEqual({ code: 0, out: "default (~/.hermes)\n", err: "" })
})

test("create, list, show, use, describe, rename, delete", async () => {
  using home = createCliHome()
  const created = await home.run(["profile", "create", "coder", "--description", "writes code"])
  expect(created.code).toBe(0)
  expect(created.out).toContain("Created the profile coder in ~/.hermes/profiles/coder.\n")
  expect(existsSync(home.home.file("profiles", "coder", "SOUL.md"))).toBe(true)

  expect((await home.run(["profile", "list"])).out).toBe(
    "*  default  ~/.hermes\n   coder    ~/.hermes/profiles/coder  writes code\n",
  )
  expect(JSON.parse((await home.run(["profile", "list", "--json"])).out)).toMatchObject([
    { name: "default", active: true, current: true },
    { name: "coder", active: false, current: false, description: "writes code" },
  ])
  expect((await home.run(["profile", "show", "coder"])).out).toMatch(
    /^Profile {6}coder\nPath {9}~\/\.hermes\/profiles\/coder\n/,
  )

  expect((await home.run(["profile", "use", "coder"])).code).toBe(0)
  expect((await home.run(["profile"])).out).toBe("coder (~/.hermes/profiles/coder)\n")
  expect((await home.run(["profile", "use", "default"])).code).toBe(0)

  expect((await home.run(["profile", "describe", "coder", "--text", "reviews code"])).code).toBe(0)
  expect((await home.run(["profile", "describe", "coder"])).out).toBe("reviews code\n")

  expect(await home.run(["profile", "rename", "coder", "critic"])).toMatchObject({
    code: 0,
    out: "Renamed coder to critic.\n",
  })
  expect((await home.run(["profile", "delete", "critic"])).code).toBe(1)
  expect((await home.run(["profile", "delete", "critic"], { answers: ["wrong"] })).out).toBe("Nothing was deleted.\n")
  expect((await home.run(["profile", "delete", "critic"], { answers: ["critic"] })).out).toBe(
    "Deleted the profile critic.\n",
  )
  expect(existsSync(home.home.file("profiles", "critic"))).toBe(false)
})

test("export leaves out keys; import restores everything else", async () => {
  using home = createCliHome()
  await home.run(["profile", "create", "coder", "--no-alias"])
  const coder = home.home.file("profiles", "coder")
  writeFileSync(join(coder, "config.yaml"), "agent:\n  max_turns: 3\n")
  writeFileSync(join(coder, ".env"), "OPENAI_API_KEY=secret\n")
  const archive = join(home.directory, "coder.tar.gz")
  expect((await home.run(["profile", "export", "coder", "-o", archive])).code).toBe(0)
  expect((await home.run(["profile", "import", archive])).code).toBe(1)
  expect((await home.run(["profile", "import", archive, "--name", "copy"])).code).toBe(0)
  const copy = home.home.file("profiles", "copy")
  expect(readFileSync(join(copy, "config.yaml"), "utf8")).toBe("agent:\n  max_turns: 3\n")
  expect(existsSync(join(copy, ".env")) && readFileSync(join(copy, ".env"), "utf8").includes("secret")).toBe(false)
})

describe("mistakes", () => {
  test.each<[readonly string[], number]>([
    [["show", "missing"], 1],
    [["use", "missing"], 1],
    [["create", "Bad Name"], 2],
    [["create", "root"], 1],
    [["create", "x", "--clone", "--no-skills"], 2],
    [["create", "x", "--clone", "--clone-all"], 2],
    [["delete", "default", "-y"], 1],
    [["rename", "default", "x"], 1],
    [["import", "/no/such/file.tar.gz"], 1],
    [["export", "missing"], 1],
  ])("%j exits %i with one sentence", async (line, code) => {
    using home = createCliHome()
    const result = await home.run(["profile", ...line])
    expect(result.code).toBe(code)
    expect(result.err).toMatch(/^[A-Z`"].*[.`]\n$/)
  })
})
