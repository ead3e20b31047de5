import { findCommand, flagsOf, GROUP_TITLES, isCommandAvailable } from "./command-lookup.ts"
import type { Command, CommandTree, Flag, Positional } from "../command.ts"
import { bold, wrapText } from "../../terminal/text-layout.ts"

export interface HelpOptions {
  readonly tree: CommandTree
  readonly columns: number
  readonly color: boolean
}

/** Renders the help of the command at `path`, or the overview for an empty path. Ends with a newline. */
export function renderHelp(path: readonly string[], options: HelpOptions): string {
  const chain = commandChain(path, options.tree)
  const lines = chain.length === 0 ? overview(options) : commandHelp(chain, options)
  return `${lines.join("\n")}\n`
}

function commandChain(path: readonly string[], tree: CommandTree): readonly Command[] {
  const chain: Command[] = []
  for (const name of path) {
    const found = findCommand(chain.at(-1)?.subcommands ?? (chain.length === 0 ? tree.commands : []), name)
    if (found === undefined) throw new Error(`no command ${path.join(" ")}`)
    chain.push(found)
  }
  return chain
}

function overview({ tree, columns, color }: HelpOptions): readonly string[] {
  const groups = Object.entries(GROUP_TITLES).flatMap(([group, title]) => {
    const rows = tree.commands
      .filter((command) => command.group === group && isCommandAvailable(command))
      .map(commandRow)
    return rows.length === 0 ? [] : section(title, rows, { columns, color })
  })
  const later = tree.commands.filter((command) => !isCommandAvailable(command) && command.replacedBy === undefined)
  const flags = [...tree.rootFlags, ...tree.commonFlags, ...tree.runFlags].filter(isListed)
  const laterFlags = flags.filter((flag) => flag.later === true).map((flag) => `--${flag.name}`)
  return [
    "Hermes, a personal AI agent that runs on your machine.",
    "",
    bold("Usage", color),
    ...layoutRows(
      [
        ["hermes", "start a conversation"],
        ['hermes -z "question"', "print one answer, for scripts"],
        ["hermes COMMAND --help", "show the help of a command"],
      ],
      columns,
    ),
    ...groups,
    ...section("Flags", flags.filter((flag) => flag.later !== true).map(flagRow), { columns, color }),
    "",
    bold("Not available in this release", color),
    ...wrapText([...later.map((command) => command.name), ...laterFlags].join(", "), { columns, indent: 2 }),
  ]
}

function commandHelp(chain: readonly Command[], { tree, columns, color }: HelpOptions): readonly string[] {
  const command = chain.at(-1)
  if (command === undefined) return []
  const subcommands = command.subcommands ?? []
  const flags = flagsOf(chain).filter(isListed)
  const later = flags.filter((flag) => flag.later === true)
  return [
    ...wrapText(`${capitalise(command.summary)}.`, { columns, indent: 0 }),
    ...(isCommandAvailable(command) ? [] : ["", "Not available in this release yet."]),
    "",
    bold("Usage", color),
    ...wrapText(usageLine(chain), { columns, indent: 2, hanging: 4 }),
    ...(command.details === undefined ? [] : ["", ...wrapText(command.details, { columns, indent: 0 })]),
    ...section("Arguments", (command.positionals ?? []).map(positionalRow), { columns, color }),
    ...section("Subcommands", subcommands.filter(isCommandAvailable).map(commandRow), { columns, color }),
    ...section("Flags", flags.filter((flag) => flag.later !== true).map(flagRow), { columns, color }),
    ...section("Global flags", tree.commonFlags.filter(isListed).map(flagRow), { columns, color }),
    ...section(
      "Not available in this release",
      [...subcommands.filter((entry) => !isCommandAvailable(entry)).map(commandRow), ...later.map(flagRow)],
      {
        columns,
        color,
      },
    ),
  ]
}

export function usageLine(chain: readonly Command[]): string {
  const command = chain.at(-1)
  const words = ["hermes", ...chain.map((entry) => entry.name)]
  const subcommands = command?.subcommands ?? []
  if (subcommands.length > 0) words.push(command?.load === undefined ? "SUBCOMMAND" : "[SUBCOMMAND]")
  if (flagsOf(chain).some(isListed)) words.push("[FLAGS]")
  words.push(...(command?.positionals ?? []).map(positionalUsage))
  return words.join(" ")
}

function positionalUsage(positional: Positional): string {
  const name = `${positional.choices?.join("|") ?? positional.name}${positional.rest === true ? "…" : ""}`
  return positional.required ? name : `[${name}]`
}

/** Returns for example `-m, --model MODEL`. */
export function flagUsage(flag: Flag): string {
  const { value } = flag
  const long = `--${flag.name}`
  const short = flag.short === undefined ? "" : `-${flag.short}, `
  if (value.kind === "none") return `${short}${long}`
  if (value.kind === "choice") return `${short}${long} ${value.choices.join("|")}`
  return `${short}${long} ${value.kind === "optional-text" ? `[${value.placeholder}]` : value.placeholder}`
}

export function isListed(flag: Flag): boolean {
  return flag.hidden !== true
}

type Row = readonly [left: string, right: string]

function commandRow(command: Command): Row {
  return [command.name, command.summary]
}

function positionalRow(positional: Positional): Row {
  return [positional.choices?.join("|") ?? positional.name, positional.summary]
}

function flagRow(flag: Flag): Row {
  return [
    `${flag.short === undefined ? "    " : ""}${flagUsage(flag)}`,
    `${flag.summary}${flag.repeatable === true ? "; may be repeated" : ""}`,
  ]
}

function section(
  title: string,
  rows: readonly Row[],
  options: { readonly columns: number; readonly color: boolean },
): readonly string[] {
  return rows.length === 0 ? [] : ["", bold(title, options.color), ...layoutRows(rows, options.columns)]
}

const WIDEST_LEFT = 26

/** Lays rows out in two columns. A left side that is too wide gets its own line. */
function layoutRows(rows: readonly Row[], columns: number): readonly string[] {
  const fitting = rows.map(([left]) => left.length).filter((length) => length <= WIDEST_LEFT)
  const width = Math.max(8, ...fitting)
  const start = width + 4
  return rows.flatMap(([left, right]) => {
    const [first = "", ...rest] = wrapText(right, { columns, indent: start })
    if (left.length > width) return [`  ${left}`, first, ...rest]
    return [`  ${left.padEnd(width)}  ${first.trimStart()}`, ...rest]
  })
}

function capitalise(text: string): string {
  return `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`
}
