import { writeFileSync } from "node:fs"

import { expect, test } from "vitest"

import { createCliHome } from "../../../../test/support/cli-home.ts"

test("hooks are listed, tested, approved, examined and revoked", async () => {
  using home = createCliHome()
  writeFileSync(
    home.home.file("config.yaml"),
    "hooks:\n  pre_tool_call:\n    - {matcher: terminal, command: cat}\n  pre_tool_cal:\n    - {command: x}\n",
  )
  const listed = await home.run(["hooks", "list"])
  expect(listed.out).toMatch(/pre_tool_call +terminal +not approved +cat/u)
  expect(listed.err).toContain("did you mean pre_tool_call?")
  expect(await home.run(["hooks", "test", "pre_tool_call"])).toMatchObject({
    code: 0,
    out: expect.stringContaining('"tool_name":"terminal"'),
  })
  expect((await home.run(["hooks", "test", "pre_tool"])).code).toBe(2)
  expect((await home.run(["hooks", "doctor"])).out).toContain("is not approved")
  expect((await home.run(["hooks", "approve", "cat"])).code).toBe(0)
  expect((await home.run(["hooks", "list"])).out).toMatch(/ approved +cat/u)
  expect((await home.run(["hooks", "revoke", "cat"])).code).toBe(0)
  expect((await home.run(["hooks", "revoke", "cat"])).code).toBe(1)
})
