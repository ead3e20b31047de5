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
    code: 1,
    out: "",
    err: expect.stringContaining("`hermes hooks approve 'cat'`"),
  })
  expect((await home.run(["hooks", "test", "pre_tool"])).code).toBe(2)
  expect((await home.run(["hooks", "doctor"])).out).toContain("is not approved")
  expect((await home.run(["hooks", "approve", "cat"])).code).toBe(0)
  expect((await home.run(["hooks", "list"])).out).toMatch(/ approved +cat/u)
  expect(await home.run(["hooks", "test", "pre_tool_call"])).toMatchObject({
    code: 0,
    out: expect.stringContaining('"tool_name":"terminal"'),
  })
  expect((await home.run(["hooks", "revoke", "cat"])).code).toBe(0)
  expect((await home.run(["hooks", "revoke", "cat"])).code).toBe(1)
})

test("approving asks about each hook; without a terminal nothing is approved and the command fails", async () => {
  using home = createCliHome()
  writeFileSync(
    home.home.file("config.yaml"),
    'hooks:\n  pre_tool_call:\n    - {command: cat}\n  on_session_end:\n    - {command: "true \u202E\\nfalse"}\n',
  )
  const unanswered = await home.run(["hooks", "approve"])
  expect(unanswered).toMatchObject({ code: 1, err: expect.stringContaining("`--yes`") })
  const asked = await home.run(["hooks", "approve"], { answers: ["y", "n"] })
  expect(asked.code).toBe(0)
  expect(asked.err).toContain(String.raw`true \u{202E}\nfalse`)
  const listed = await home.run(["hooks", "list"])
  expect(listed.out).toMatch(/pre_tool_call +approved/u)
  expect(listed.out).toMatch(/on_session_end +not approved/u)
  expect((await home.run(["hooks", "approve", "--yes"])).code).toBe(0)
  expect((await home.run(["hooks", "list"])).out).not.toContain("not approved")
})
