import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { createTestHomeContext, type TestHomeContext } from "../../../test/support/home-context.ts"
import { planInstall } from "./install-servers.ts"
import { restartServers } from "./restart-servers.ts"
import { serverStatus } from "./server-status.ts"

const { signal } = new AbortController()

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** A home, and a git work tree with one Python file. Returns the directory of the work tree. */
function createProject(context: TestHomeContext): string {
  const directory = join(context.directory, "project")
  mkdirSync(join(directory, ".git"), { recursive: true })
  write(join(directory, "pyproject.toml"), "")
  write(join(directory, "main.py"), "")
  return directory
}

test("a project's server is missing, needs a sandbox, is ready, or has failed", async () => {
  using context = createTestHomeContext({ "config.yaml": "terminal:\n  sandbox: off\n" }, { PATH: "/nowhere" })
  const directory = createProject(context)
  const states = async (): Promise<readonly (readonly string[])[]> => {
    const { servers } = await serverStatus(context, { directory, signal })
    return servers.map(({ name, state }) => [name, state])
  }
  expect(await states()).toEqual([["pyright", "missing"]])
  const program = context.home.file("lsp/node_modules/.bin/pyright-langserver")
  write(program, "#!/bin/sh\n")
  chmodSync(program, 0o755)
  expect(await states()).toEqual([["pyright", "needs-sandbox"]])
  write(
    context.home.file("config.yaml"),
    "terminal:\n  sandbox: off\nlsp:\n  servers:\n    pyright:\n      trusted: true\n",
  )
  expect(await states()).toEqual([["pyright", "ready"]])
  const failure = { server: "pyright", root: directory, reason: "it ended with code 3", at: Date.now() }
  write(context.home.file("lsp/broken.json"), JSON.stringify([failure]))
  expect(await states()).toEqual([["pyright", "failed"]])
  expect(await restartServers(context, { server: "gopls" })).toEqual({ ok: true, value: 0 })
  expect(await restartServers(context, { server: "rubbish" })).toMatchObject({ ok: false, error: { kind: "invalid" } })
  expect(await restartServers(context, { server: undefined })).toEqual({ ok: true, value: 1 })
  expect(await states()).toEqual([["pyright", "ready"]])
})

test("without a name, the servers that the project lacks are installed", async () => {
  using context = createTestHomeContext({ "config.yaml": "lsp:\n  install_strategy: auto\n" }, { PATH: "/nowhere" })
  const directory = createProject(context)
  expect(await planInstall(context, { names: [], directory })).toMatchObject({
    ok: true,
    value: { packages: ["pyright"], manual: [], directory: context.home.file("lsp") },
  })
  expect(await planInstall(context, { names: ["pyright", "gopls"], directory })).toMatchObject({
    value: { packages: ["pyright"], manual: [{ name: "gopls" }] },
  })
})

test.each([
  ["off", ["yaml"], "failed"],
  ["manual", [], "invalid"],
  ["manual", ["pyrigt"], "invalid"],
  ["auto", [], "invalid"],
])("with install_strategy %s, installing %j outside a work tree is %s", async (strategy, names, kind) => {
  using context = createTestHomeContext({ "config.yaml": `lsp:\n  install_strategy: ${strategy}\n` })
  expect(await planInstall(context, { names, directory: context.directory })).toMatchObject({
    ok: false,
    error: { kind },
  })
})
