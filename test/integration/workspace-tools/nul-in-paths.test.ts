import { readdir } from "node:fs/promises"

import { expect, test } from "vitest"

import { assembleApp } from "../assembled-app.ts"
import { openToolSession, QUIET } from "./tool-session.ts"

const PATCH = "*** Begin Patch\n*** Add File: new/a\0b\n+x\n*** End Patch"

test("every file tool rejects a path with a NUL character and creates nothing", async () => {
  await using app = await assembleApp([], { config: `${QUIET}terminal:\n  sandbox: off\n` })
  await using tools = await openToolSession(app)
  const before = await readdir(app.home.workdir)
  const calls: readonly (readonly [string, object])[] = [
    ["read_file", { path: "new/a\0b" }],
    ["write_file", { path: "new/a\0b", content: "x" }],
    ["patch", { mode: "replace", path: "new/a\0b", old_string: "x", new_string: "y" }],
    ["patch", { mode: "patch", patch: PATCH }],
    ["search_files", { pattern: "x", path: "new/a\0b" }],
    ["search_files", { pattern: "*", target: "files", path: "new/a\0b" }],
  ]
  for (const [tool, input] of calls) {
    const { error } = await tools.fields(tool, input)
    expect([tool, error]).toEqual([tool, expect.stringContaining("a path cannot contain a NUL character")])
  }
  expect(await readdir(app.home.workdir)).toEqual(before)
})
