import { afterEach, expect, test } from "vitest"

import { prewarmedShells } from "../../../test/support/prewarmed-shells.ts"
import { createPrewarmedShells } from "./shell-prewarmer.ts"
import type { PrewarmedShells } from "./shell-prewarmer.ts"

/** Allows for a busy machine. */
const POLL = { timeout: 10_000 }
const BASH = { shell: "/bin/bash", environment: { PATH: "/usr/bin:/bin" } }

let shells: PrewarmedShells

function open(more: { readonly environment?: Record<string, string>; readonly prefix?: readonly string[] } = {}) {
  return shells.open({ ...BASH, prefix: () => more.prefix, ...(more.environment && { environment: more.environment }) })
}

afterEach(async () => {
  shells.dispose()
  await expect.poll(() => prewarmedShells(process.pid), POLL).toEqual([])
})

test("any number of workspaces have no more than the allowed number of shells", async () => {
  shells = createPrewarmedShells(3)
  const workspaces = Array.from({ length: 10 }, () => open())
  for (const workspace of workspaces) workspace.prepare("/")
  await expect.poll(() => prewarmedShells(process.pid).length, POLL).toBe(3)
})

test("without a sandbox a workspace uses the shell of another one, but its own first", async () => {
  shells = createPrewarmedShells()
  const [one, other] = [open(), open()]
  one.prepare("/")
  other.prepare("/")
  const [older] = prewarmedShells(process.pid)
  const own = await other.take("/")
  expect(own?.child.pid).not.toBe(older)
  const shared = await other.take("/")
  expect(shared?.child.pid).toBe(older)
  expect(await other.take("/")).toBeUndefined()
  own?.discard()
  shared?.discard()
})

test("a shell with another environment or another sandbox is not used", async () => {
  shells = createPrewarmedShells()
  open().prepare("/")
  expect(await open({ environment: { PATH: "/bin" } }).take("/")).toBeUndefined()
  expect(await open({ prefix: ["/usr/bin/env"] }).take("/")).toBeUndefined()
})

test("a closed workspace leaves no shell and starts none", async () => {
  shells = createPrewarmedShells()
  const workspace = open()
  workspace.prepare("/")
  workspace.dispose()
  workspace.prepare("/")
  await expect.poll(() => prewarmedShells(process.pid), POLL).toEqual([])
})

test("a sandbox is built for one directory: a shell for another directory is not used, and is replaced", async () => {
  shells = createPrewarmedShells()
  const workspace = shells.open({ ...BASH, prefix: (cwd) => ["/usr/bin/env", `--chdir=${cwd}`] })
  workspace.prepare("/tmp")
  const [first] = prewarmedShells(process.pid)
  expect(await workspace.take("/usr")).toBeUndefined()
  workspace.prepare("/tmp")
  workspace.prepare("/usr")
  const taken = await workspace.take("/usr")
  expect([taken === undefined, taken?.child.pid === first]).toEqual([false, false])
  taken?.discard()
})
