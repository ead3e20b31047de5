import { nearest } from "../base/nearest-name.ts"
import type { OwnCommand } from "./own-commands.ts"
import { SLASH_CATEGORIES, type SlashCategory, type SlashCommand } from "./slash-command.ts"

/** All commands by category, or one in detail. */
export function helpText(argument: string, commands: readonly SlashCommand[], own: readonly OwnCommand[]): string {
  const name = argument.trim().replace(/^\//u, "").toLowerCase()
  if (name !== "") return commandHelp(name, commands, own)
  const sections = SLASH_CATEGORIES.map((category) => {
    const rows = commands.filter((command) => command.category === category).map(row)
    return [`${CATEGORY_TITLES[category]}:`, ...rows].join("\n")
  })
  const others = own.map(row)
  return [
    ...sections,
    ...(others.length === 0 ? [] : [["Your commands:", ...others].join("\n")]),
    "/help COMMAND shows more about one. The start of a name is enough. @ names files, ! runs a command of yours.",
  ].join("\n\n")
}

const CATEGORY_TITLES: Readonly<Record<SlashCategory, string>> = {
  conversation: "Conversation",
  model: "Model",
  permissions: "Permissions",
  tools: "Tools",
  knowledge: "Knowledge",
  display: "Display",
  information: "Information",
}

const USAGE_WIDTH = 26

type HelpRow = Pick<SlashCommand, "name" | "help" | "aliases" | "argument">

function row({ name, aliases = [], argument, help }: HelpRow): string {
  const usage = `/${name}${argument === undefined ? "" : ` ${argument}`}`
  const also = aliases.length === 0 ? "" : ` (also ${aliases.map((alias) => `/${alias}`).join(", ")})`
  // A few commands have many arguments; they get a line of their own.
  return usage.length > USAGE_WIDTH
    ? `${usage}\n${" ".repeat(USAGE_WIDTH)}  ${help}${also}`
    : `${usage.padEnd(USAGE_WIDTH)}  ${help}${also}`
}

function commandHelp(name: string, commands: readonly SlashCommand[], own: readonly OwnCommand[]): string {
  const command = commands.find((each) => each.name === name || each.aliases?.includes(name) === true)
  if (command !== undefined) {
    const { aliases = [], details, idleOnly } = command
    return [
      `/${command.name}${command.argument === undefined ? "" : ` ${command.argument}`}`,
      `${command.help}.`,
      ...(details === undefined ? [] : [details]),
      ...(aliases.length === 0 ? [] : [`Also: ${aliases.map((alias) => `/${alias}`).join(", ")}.`]),
      ...(idleOnly === true ? ["Not available while a reply is being generated."] : []),
    ].join("\n")
  }
  const ownCommand = own.find((each) => each.name === name)
  if (ownCommand !== undefined) return `/${ownCommand.name}\n${ownCommand.help}`
  const closest = nearest(
    name,
    [...commands, ...own].map((each) => each.name),
  )
  return `There is no command /${name}.${closest === undefined ? "" : ` Did you mean /${closest}?`} /help lists them.`
}
