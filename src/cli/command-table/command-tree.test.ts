import { expect, test } from "vitest"

import { createCliHome } from "../../../test/support/cli-home.ts"
import type { Command } from "../command.ts"
import { COMMAND_TREE } from "./command-tree.ts"

interface Listed {
  readonly path: readonly string[]
  readonly command: Command
}

function allCommands(commands: readonly Command[], above: readonly string[] = []): readonly Listed[] {
  return commands.flatMap((command) => {
    const path = [...above, command.name]
    return [{ path, command }, ...allCommands(command.subcommands ?? [], path)]
  })
}

const COMMANDS = allCommands(COMMAND_TREE.commands)

/** They ask servers on the network, or need more than `--json`; each has tests of its own. */
const NOT_ALONE = ["doctor", "skills search", "skills check", "permissions explain"]

test("every command with --json and without arguments prints exactly one JSON document in an empty home", async () => {
  using home = createCliHome()
  const checked: string[] = []
  for (const { path, command } of COMMANDS) {
    const { flags = [], positionals = [], load } = command
    const accepts = load !== undefined && flags.some(({ name }) => name === "json")
    if (!accepts || positionals.some(({ required }) => required) || NOT_ALONE.includes(path.join(" "))) continue
    const { out, err } = await home.run([...path, "--json"])
    expect(
      () => {
        JSON.parse(out)
      },
      `${path.join(" ")}: ${out}${err}`,
    ).not.toThrow()
    checked.push(path.join(" "))
  }
  expect(checked).toEqual(expect.arrayContaining(LISTING))
})

/** Commands that list or show something. */
const LISTING = [
  "sessions list",
  "sessions stats",
  "sessions tree",
  "insights",
  "checkpoints",
  "checkpoints list",
  "config show",
  "profile list",
  "fallback list",
  "auth list",
  "memory status",
  "permissions show",
  "audit",
  "tools",
  "tools list",
  "skills list",
  "plugins list",
  "hooks list",
  "mcp list",
  "mcp catalog",
  "lsp list",
  "status",
  "prompt-size",
  "version",
]

test("a command without an implementation says so and exits 1", async () => {
  using home = createCliHome()
  const missing = COMMANDS.filter(({ command }) => command.load === undefined && command.subcommands === undefined)
  expect(missing.length).toBeGreaterThan(0)
  for (const { path, command } of missing) {
    const words = (command.positionals ?? []).map(() => "x")
    const { code, out, err } = await home.run([...path, ...words])
    expect([path, code, out]).toEqual([path, 1, ""])
    expect(err).toMatch(/not available in this release|has been replaced by/u)
  }
})
