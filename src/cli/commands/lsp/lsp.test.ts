import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { expect, test } from "vitest"

import { createCliHome } from "../../../../test/support/cli-home.ts"
import type { CliHome } from "../../../../test/support/cli-home.ts"

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function program(path: string, script: string): void {
  write(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
}

/** Runs a command line with only the test's `bin` directory on the PATH. */
async function lsp(home: CliHome, line: string) {
  return await home.run(["lsp", ...line.split(" ")], {
    variables: { PATH: join(home.directory, "bin") },
  })
}

test("list shows every server, its program and how to install it", async () => {
  using home = createCliHome()
  program(join(home.home.path, "lsp/node_modules/.bin/pyright-langserver"), "")
  const { code, out } = await lsp(home, "list --json")
  const rows = JSON.parse(out) as readonly {
    readonly name: string
    readonly found_in: unknown
    readonly install: string
  }[]
  expect(code).toBe(0)
  expect(rows.find(({ name }) => name === "pyright")).toMatchObject({ found_in: "home" })
  expect(rows.find(({ name }) => name === "gleam")).toEqual({
    name: "gleam",
    files: [".gleam"],
    command: null,
    found_in: null,
    install: "install Gleam, which includes the server",
  })
  expect((await lsp(home, "list")).out).toContain("~/.hermes/lsp/node_modules/.bin/pyright-langserver")
})

test("status shows the servers of this project and their failures; restart clears the failures", async () => {
  using home = createCliHome()
  const broken = [{ server: "typescript", root: process.cwd(), reason: "it ended with code 3", at: Date.now() }]
  write(join(home.home.path, "lsp/broken.json"), JSON.stringify(broken))
  const shown = await lsp(home, "status")
  expect([shown.code, shown.out]).toEqual([
    0,
    expect.stringMatching(
      /^Language servers check every write in [^]*\n {2}typescript +\d+ files +not installed: hermes lsp install typescript\n/u,
    ),
  ])
  expect(shown.out).toMatch(/Failed within the last hour[^]*typescript in .*, just now: it ended with code 3\n$/u)
  expect((await lsp(home, "restart gopls")).out).toMatch(/^gopls has not failed; /u)
  expect(await lsp(home, "restart typscript")).toMatchObject({
    code: 2,
    out: "",
    err: expect.stringContaining("did you mean typescript?"),
  })
  expect((await lsp(home, "restart")).out).toMatch(/^Cleared 1 failure: /u)
  expect((await lsp(home, "restart")).out).toMatch(/^No server has failed; /u)
  write(join(home.home.path, "config.yaml"), "lsp:\n  enabled: false\n")
  expect(JSON.parse((await lsp(home, "status --json")).out)).toMatchObject({
    in_use: false,
    reason: "Language servers are disabled by lsp.enabled.",
    failures: [],
  })
})

test("install runs npm without package scripts, and explains how to install other servers", async () => {
  using home = createCliHome()
  const recorded = join(home.directory, "npm-arguments")
  program(join(home.directory, "bin/npm"), `printf '%s\\n' "$*" >${recorded}`)
  expect(await lsp(home, "install pyright gopls")).toEqual({
    code: 0,
    out: "Installing pyright into ~/.hermes/lsp …\nDone.\n",
    err: "gopls is not an npm package. Install it with: go install golang.org/x/tools/gopls@latest\n",
  })
  const directory = join(home.home.path, "lsp")
  expect(readFileSync(recorded, "utf8")).toBe(
    `install --prefix ${directory} --ignore-scripts --no-audit --no-fund --loglevel=error pyright\n`,
  )
  expect(readFileSync(join(directory, "package.json"), "utf8")).toBe('{\n  "private": true\n}\n')
})

test.each([
  ["install pyrigt", "", 2, 'There is no language server "pyrigt"; did you mean pyright?\n'],
  [
    "install gopls",
    "",
    1,
    "gopls is not an npm package. Install it with: go install golang.org/x/tools/gopls@latest\n",
  ],
  ["install yaml", "", 1, "Nothing was installed: npm failed: no such registry.\n"],
  [
    "install yaml",
    "lsp:\n  install_strategy: off\n",
    1,
    "lsp.install_strategy is off, so Hermes installs no language servers; set it to manual.\n",
  ],
  [
    "install",
    "lsp:\n  install_strategy: manual\n",
    2,
    "Name the servers to install, as `hermes lsp list` shows them; lsp.install_strategy is manual.\n",
  ],
])("%s with %j is refused", async (line, config, code, err) => {
  using home = createCliHome()
  if (config !== "") write(join(home.home.path, "config.yaml"), config)
  program(join(home.directory, "bin/npm"), "echo no such registry >&2; exit 1")
  const answer = await lsp(home, line)
  expect([answer.code, answer.err]).toEqual([code, err])
})

test("without npm the message names what to install", async () => {
  using home = createCliHome()
  const answer = await home.run(["lsp", "install", "yaml"], { variables: { PATH: join(home.directory, "bin") } })
  expect([answer.code, answer.err]).toEqual([
    1,
    "Nothing was installed: npm is not on the PATH; install Node.js with npm.\n",
  ])
})
