import { existsSync, rmSync } from "node:fs"
import { expect, test } from "vitest"

import { createCliHome } from "../../../test/support/cli-home.ts"

test.each([
  [["config", "unset", "agent.max_turns"], 1, "`agent.max_turns` is not set: ~/.hermes does not exist yet."],
  [["hooks", "revoke", "zzz"], 1, "The hook `zzz` was not approved. See `hermes hooks list`."],
  [["plugins", "install", "zzz"], 1, '"zzz" is neither a folder nor an address of a git repository'],
  [["model", "zzz"], 2, '"zzz" is neither a provider nor the address of a server.'],
  [["auth", "status", "zzz"], 2, "There is no provider `zzz`."],
  [["fallback", "add", "zzz", "m"], 2, 'There is no provider "zzz".'],
])("%j without a home says what is wrong, and creates none", async (line, code, text) => {
  using home = createCliHome()
  rmSync(home.home.path, { recursive: true })
  const run = await home.run(line)
  expect([run.code, run.out]).toEqual([code, ""])
  expect(run.err).toContain(text)
  expect(existsSync(home.home.path)).toBe(false)
})

test("without a home, a change creates it, and a missing archive is named", async () => {
  using home = createCliHome()
  rmSync(home.home.path, { recursive: true })
  expect((await home.run(["skills", "opt-out"])).code).toBe(0)
  expect(existsSync(home.home.file(".no-bundled-skills"))).toBe(true)
  expect((await home.run(["profile", "import", "/nowhere.tar.gz"])).err).toBe(
    "Cannot import /nowhere.tar.gz: there is no such file.\n",
  )
})
