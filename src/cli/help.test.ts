import { describe, expect, test } from "vitest"
import { findCommand, isAvailable } from "./command-lookup.ts"
import { renderCommandReference } from "./command-reference.ts"
import { COMMAND_TREE } from "./command-table.ts"
import type { Command, Flag } from "./command.ts"
import { renderHelp } from "./help.ts"

const options = { tree: COMMAND_TREE, columns: 80, color: false }

/** Every command of the tree with its path. */
function allCommands(
  commands: readonly Command[],
  above: readonly string[] = [],
): readonly (readonly [readonly string[], Command])[] {
  return commands.flatMap((command) => {
    const path = [...above, command.name]
    return [[path, command] as const, ...allCommands(command.subcommands ?? [], path)]
  })
}
const EVERY = allCommands(COMMAND_TREE.commands)

describe("the tree", () => {
  test("names every command that the specification names", () => {
    const names = [
      "setup model fallback auth login logout config tools skills bundles plugins hooks mcp memory sessions insights status doctor",
      "dump debug logs prompt-size backup import audit checkpoints profile cron heartbeat kanban gateway send webhook pairing acp",
      "dashboard proxy batch trajectory eval node db completion update uninstall version curator lsp security secrets migrate",
      "claw portal computer-use slack whatsapp chat",
    ].flatMap((line) => line.split(" "))
    expect(COMMAND_TREE.commands.map((command) => command.name).toSorted()).toEqual(names.toSorted())
  })

  test("has no two names or shorts alike at one place", () => {
    for (const [path, command] of EVERY) {
      const words = (command.subcommands ?? []).flatMap((entry) => [entry.name, ...(entry.aliases ?? [])])
      expect(new Set(words).size, path.join(" ")).toBe(words.length)
      const flags: readonly Flag[] = [...(command.flags ?? []), ...COMMAND_TREE.commonFlags]
      const shorts = flags.flatMap((flag) => flag.short ?? [])
      expect(new Set(shorts).size, path.join(" ")).toBe(shorts.length)
      const longs = flags.map((flag) => flag.name)
      expect(new Set(longs).size, path.join(" ")).toBe(longs.length)
    }
  })

  test("loads a run function for every command that works", async () => {
    const missing = ["chat", "prompt-size"]
    for (const [path, command] of EVERY) {
      if (command.load === undefined || missing.includes(path.join(" "))) continue
      expect(typeof (await command.load()).run, path.join(" ")).toBe("function")
    }
  })
})

describe("help", () => {
  test("the overview lists what works by group and what does not apart", () => {
    const text = renderHelp([], options)
    const [works = "", later = ""] = text.split("Not in this release yet")
    for (const command of COMMAND_TREE.commands) {
      if (command.replacedBy !== undefined) continue
      const place = isAvailable(command) ? works : later
      expect(place, command.name).toMatch(new RegExp(`(^|[\\s,])${command.name}([\\s,]|$)`, "m"))
    }
    expect(works).not.toContain("--tui ")
    expect(later).toContain("--tui")
  })

  test.each([40, 80, 200])("no line is wider than %i columns", (columns) => {
    for (const [path] of [[[]] as const, ...EVERY]) {
      const lines = renderHelp(path, { ...options, columns }).split("\n")
      const tooWide = lines.filter((line) => line.length > columns && line.trim().includes("  "))
      expect(tooWide).toEqual([])
    }
  })

  test("colour appears only when it is wanted", () => {
    expect(renderHelp([], options)).not.toContain("\u001B")
    expect(renderHelp([], { ...options, color: true })).toContain("\u001B[1mUsage\u001B[22m")
  })

  test("one command shows usage, arguments, flags and what comes later", () => {
    const tree = {
      commands: [
        {
          name: "pack",
          summary: "pack things",
          details: "All of them.",
          group: "care",
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
        "Not in this release yet",
        "      --magic  not yet",
        "",
      ].join("\n"),
    )
  })
})

test("the reference page has every command and every listed flag", () => {
  const page = renderCommandReference()
  for (const [path, command] of EVERY) {
    expect(page).toContain(`\`hermes ${path.join(" ")}\`${isAvailable(command) ? "" : " *(later)*"}\n`)
    for (const flag of command.flags ?? []) if (flag.hidden !== true) expect(page).toContain(`--${flag.name}`)
  }
  expect(page).not.toContain("--candidates")
})

test("commands are found by name and by alias", () => {
  const sessions = findCommand(COMMAND_TREE.commands, "sessions")?.subcommands ?? []
  expect(findCommand(sessions, "ls")).toBe(findCommand(sessions, "list"))
  expect(findCommand(sessions, "nothing")).toBeUndefined()
})
