import { describe, expect, test } from "vitest"
import { findCommand, isCommandAvailable } from "./command-lookup.ts"
import { renderCommandReference } from "./command-reference.ts"
import { COMMAND_TREE } from "../command-table/command-tree.ts"
import type { Command, Flag } from "../command.ts"
import { renderHelp } from "./help.ts"

const options = { tree: COMMAND_TREE, columns: 80, color: false }

/** All commands of the tree with their paths. */
function allCommands(
  commands: readonly Command[],
  above: readonly string[] = [],
): readonly (readonly [readonly string[], Command])[] {
  return commands.flatMap((command) => {
    const path = [...above, command.name]
    return [[path, command] as const, ...allCommands(command.subcommands ?? [], path)]
  })
}
const ALL_COMMANDS = allCommands(COMMAND_TREE.commands)

test("no help page lists a flag twice", () => {
  for (const [path] of ALL_COMMANDS) {
    const flags = renderHelp(path, options)
      .split("\n")
      .flatMap((line) => /^ {2}(?:-\w, )?(--[\w-]+)/.exec(line)?.[1] ?? [])
    expect(new Set(flags).size, path.join(" ")).toBe(flags.length)
  }
})

describe("the tree", () => {
  test("has no duplicate names or short flags within one command", () => {
    for (const [path, command] of ALL_COMMANDS) {
      const words = (command.subcommands ?? []).flatMap((entry) => [entry.name, ...(entry.aliases ?? [])])
      expect(new Set(words).size, path.join(" ")).toBe(words.length)
      const flags: readonly Flag[] = [...(command.flags ?? []), ...COMMAND_TREE.commonFlags]
      const shorts = flags.flatMap((flag) => flag.short ?? [])
      expect(new Set(shorts).size, path.join(" ")).toBe(shorts.length)
      const longs = flags.map((flag) => flag.name)
      expect(new Set(longs).size, path.join(" ")).toBe(longs.length)
    }
  })

  test("loads a run function for every available command", async () => {
    const missing = ["chat", "prompt-size"]
    for (const [path, command] of ALL_COMMANDS) {
      if (command.load === undefined || missing.includes(path.join(" "))) continue
      expect(typeof (await command.load()).run, path.join(" ")).toBe("function")
    }
  })
})

describe("help", () => {
  test("the overview lists available commands by group and the others separately", () => {
    const text = renderHelp([], options)
    const [available = "", later = ""] = text.split("Not available in this release")
    for (const command of COMMAND_TREE.commands) {
      if (command.replacedBy !== undefined) continue
      const section = isCommandAvailable(command) ? available : later
      expect(section, command.name).toMatch(new RegExp(`(^|[\\s,])${command.name}([\\s,]|$)`, "m"))
    }
    expect(available).toContain("--tui ")
  })

  test.each([40, 80, 200])("no line is wider than %i columns", (columns) => {
    for (const [path] of [[[]] as const, ...ALL_COMMANDS]) {
      const lines = renderHelp(path, { ...options, columns }).split("\n")
      const tooWide = lines.filter((line) => line.length > columns && line.trim().includes("  "))
      expect(tooWide).toEqual([])
    }
  })

  test("contains ANSI codes only with colour", () => {
    expect(renderHelp([], options)).not.toContain("\u001B")
    expect(renderHelp([], { ...options, color: true })).toContain("\u001B[1mUsage\u001B[22m")
  })

  test("the help of a command shows usage, arguments, flags and flags of later releases", () => {
    const tree = {
      commands: [
        {
          name: "pack",
          summary: "pack things",
          details: "All of them.",
          group: "maintenance",
          positionals: [{ name: "FILE", summary: "where to", required: true, rest: true }],
          flags: [
            { name: "size", short: "s", summary: "how large", value: { kind: "integer", placeholder: "N" } },
            { name: "kind", summary: "which", value: { kind: "choice", choices: ["a", "b"] }, repeatable: true },
            { name: "magic", summary: "not yet", value: { kind: "none" }, later: true },
            { name: "secret", summary: "never shown", value: { kind: "none" }, hidden: true },
          ],
          load: () => Promise.reject(new Error("not needed")),
        },
      ],
      defaultCommand: "pack",
      commonFlags: [],
      runFlags: [],
      rootFlags: [],
    } as const
    expect(renderHelp(["pack"], { tree, columns: 80, color: false })).toBe(
      [
        "Pack things.",
        "",
        "Usage",
        "  hermes pack [FLAGS] FILE…",
        "",
        "All of them.",
        "",
        "Arguments",
        "  FILE      where to",
        "",
        "Flags",
        "  -s, --size N    how large",
        "      --kind a|b  which; may be repeated",
        "",
        "Not available in this release",
        "      --magic  not yet",
        "",
      ].join("\n"),
    )
  })
})

test("the reference page contains every command and every listed flag", () => {
  const page = renderCommandReference()
  for (const [path, command] of ALL_COMMANDS) {
    expect(page).toContain(`\`hermes ${path.join(" ")}\`${isCommandAvailable(command) ? "" : " *(later)*"}\n`)
    for (const flag of command.flags ?? []) if (flag.hidden !== true) expect(page).toContain(`--${flag.name}`)
  }
  expect(page).not.toContain("--candidates")
})

test("finds commands by name and alias", () => {
  const sessions = findCommand(COMMAND_TREE.commands, "sessions")?.subcommands ?? []
  expect(findCommand(sessions, "ls")).toBe(findCommand(sessions, "list"))
  expect(findCommand(sessions, "nothing")).toBeUndefined()
})
