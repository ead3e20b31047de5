import { mkdir, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { Clock } from "../../base/clock.ts"
import { createServerFinder } from "./find-server.ts"
import { configureServers } from "./server-settings.ts"

interface Project {
  readonly at: (...names: readonly string[]) => string
  readonly program: (path: string) => Promise<string>
  readonly file: (path: string, text?: string) => Promise<string>
  readonly find: (path: string, settings?: Readonly<Record<string, unknown>>) => unknown
}

async function inProject(work: (project: Project) => Promise<void>): Promise<void> {
  await using home = await temporaryHome()
  const at = (...names: readonly string[]): string => join(home.workdir, ...names)
  const file = async (path: string, text = ""): Promise<string> => {
    await mkdir(dirname(at(path)), { recursive: true })
    await writeFile(at(path), text, { mode: 0o755 })
    return at(path)
  }
  await mkdir(at("repo/.git"), { recursive: true })
  await work({
    at,
    file,
    program: (path) => file(path, "#!/bin/sh\n"),
    find: (path, settings = {}) => {
      const { servers } = configureServers(settings)
      const clock: Clock = { now: () => 0, sleep: () => Promise.resolve() }
      const searchPath = [at("bin"), "relative", at("repo/node_modules/.bin")].join(":")
      const finder = createServerFinder({
        servers,
        modules: at("lsp/node_modules"),
        path: searchPath,
        userHome: at(""),
        clock,
      })
      const found = finder.find(at(path))
      return found && [found.server.name, found.command, found.from, found.root, found.languageId, found.needsSandbox]
    },
  })
}

test("a program is found among the installed packages, then on the PATH, and never in the project", async () => {
  await inProject(async ({ at, program, find }) => {
    await program("repo/node_modules/.bin/pyright-langserver")
    expect(find("repo/a.py")).toBeUndefined()
    await mkdir(at("bin"))
    await symlink(at("repo/node_modules/.bin/pyright-langserver"), at("bin/pyright-langserver"))
    expect(find("repo/a.py")).toBeUndefined()
    const onPath = await program("bin/basedpyright-langserver")
    expect(find("repo/a.py")).toEqual(["pyright", [onPath, "--stdio"], "path", at("repo"), "python", true])
    const own = await program("lsp/node_modules/.bin/pyright-langserver")
    expect(find("repo/a.py")).toEqual(["pyright", [own, "--stdio"], "home", at("repo"), "python", true])
  })
})

test("there is no server outside a git work tree; the nearest marker determines the root", async () => {
  await inProject(async ({ at, program, file, find }) => {
    const gopls = await program("bin/gopls")
    expect(find("elsewhere/a.go")).toBeUndefined()
    await file("repo/deep/go.mod")
    await file("repo/deep/er/x")
    expect([find("repo/deep/er/a.go"), find("repo/a.go"), find("repo/a.unknown")]).toEqual([
      ["gopls", [gopls], "path", at("repo/deep"), "go", false],
      ["gopls", [gopls], "path", at("repo"), "go", false],
      undefined,
    ])
  })
})

test("a tsc older than version 7 or outside a package is not used; typescript-language-server is", async () => {
  await inProject(async ({ at, program, file, find }) => {
    const tsc = await program("pkg/typescript/bin/tsc")
    await file("pkg/typescript/package.json", '{"name": "typescript", "version": "5.9.3"}')
    await mkdir(at("bin"))
    await symlink(tsc, at("bin/tsc"))
    expect(find("repo/a.ts")).toBeUndefined()
    const older = await program("bin/typescript-language-server")
    expect(find("repo/a.tsx")).toEqual(["typescript", [older, "--stdio"], "path", at("repo"), "typescriptreact", true])
    await file("pkg/typescript/package.json", '{"name": "typescript", "version": "7.0.2"}')
    expect(find("repo/a.ts")).toEqual([
      "typescript",
      [at("bin/tsc"), "--lsp", "--stdio"],
      "path",
      at("repo"),
      "typescript",
      false,
    ])
  })
})

test("settings override the program, trust a server, disable one, or add one", async () => {
  await inProject(async ({ at, program, find }) => {
    const own = await program("tools/my server")
    const named = await program("bin/other-pyright")
    expect([
      find("repo/a.py", { pyright: { command: "other-pyright --a b", trusted: true } }),
      find("repo/a.py", { pyright: { command: [own], args: ["-x"] } }),
      find("repo/a.py", { pyright: { command: "/nowhere/pyright" } }),
      find("repo/a.py", { pyright: { command: named, disabled: true } }),
      find("repo/a.foo", { foo: { command: "~/tools/none", extensions: ["foo"] } }),
      find("repo/a.foo", { foo: { command: ["~/tools/my server"], extensions: ["foo"], language: "f" } }),
    ]).toEqual([
      ["pyright", [named, "--a", "b"], "settings", at("repo"), "python", false],
      ["pyright", [own, "-x"], "settings", at("repo"), "python", true],
      undefined,
      undefined,
      undefined,
      ["foo", [own], "settings", at("repo"), "f", false],
    ])
  })
})

test("invalid settings are reported", () => {
  expect(configureServers({ nope: { command: "x" }, pyright: 3, gone: { disabled: true } }).problems).toEqual([
    "lsp.servers.pyright must be a mapping",
    "lsp.servers.nope is not a known server; define it with `command` and `extensions`",
  ])
})
