import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../support/temporary-home.ts"
import { hermes } from "./hermes-process.ts"

// These commands use CommonJS libraries; only the built command shows whether the bundle can load them.

test("restores a backup with its conversations into another home", async () => {
  await using home = await temporaryHome()
  await using other = await temporaryHome()
  await hermes(home, ["-z", "remember that I grow tomatoes"])
  const archive = join(home.workdir, "backup.zip")
  expect(await hermes(home, ["backup", "-o", archive])).toMatchObject({ code: 0, stderr: "" })
  expect(await hermes(other, ["import", archive, "-f"])).toMatchObject({ code: 0, stderr: "" })
  const found = await hermes(other, ["sessions", "search", "tomatoes"])
  expect([found.code, found.stdout]).toEqual([0, expect.stringContaining("grow tomatoes")])
})

test("exports and imports a profile without its keys", async () => {
  await using home = await temporaryHome()
  const archive = join(home.workdir, "work.tgz")
  for (const line of [
    ["profile", "create", "work", "--no-alias"],
    ["-p", "work", "config", "set", "agent.max_turns", "7"],
    ["-p", "work", "config", "set", "OPENROUTER_API_KEY", "sk-or-planted-0123456789"],
    ["profile", "export", "work", "-o", archive],
    ["profile", "import", archive, "--name", "copy"],
  ]) {
    expect([line, (await hermes(home, line)).code]).toEqual([line, 0])
  }
  expect((await hermes(home, ["-p", "copy", "config", "get", "agent.max_turns"])).stdout).toBe("7\n")
  expect((await hermes(home, ["-p", "copy", "config", "show"])).stdout).toMatch(/OPENROUTER_API_KEY\s+\(not set\)/)
})

test("warns about an unknown toolset and uses the others", async () => {
  await using home = await temporaryHome()
  const mixed = await hermes(home, ["-q", "hello", "-t", "file,nonsense"])
  expect([mixed.code, mixed.stderr]).toEqual([0, expect.stringContaining("There is no toolset nonsense")])
  expect((await hermes(home, ["-q", "hello", "-t", "nonsense"])).code).toBe(2)
})
