import { GROUP_TITLES, isCommandAvailable } from "./command-lookup.ts"
import { COMMAND_TREE } from "../command-table/command-tree.ts"
import type { Command, Flag } from "../command.ts"
import { flagUsage, isListed, usageLine } from "./help.ts"

/** Returns the text of `docs/reference/commands.md`. */
export function renderCommandReference(): string {
  const groups = Object.entries(GROUP_TITLES).flatMap(([group, title]) => {
    const commands = COMMAND_TREE.commands.filter((command) => command.group === group)
    return commands.length === 0 ? [] : [`## ${title}`, "", ...commands.flatMap((command) => commandSection([command]))]
  })
  const { rootFlags, commonFlags, runFlags } = COMMAND_TREE
  return [
    "# Commands",
    "",
    "Generated from `src/cli/command-table/command-tree.ts` by `npm run generate`; do not edit by hand. Commands marked *later* are planned, but not available in this release.",
    "",
    "## Global flags",
    "",
    ...flagTable([...rootFlags, ...commonFlags, ...runFlags]),
    "",
    ...groups,
  ].join("\n")
}

function commandSection(chain: readonly Command[]): readonly string[] {
  const command = chain.at(-1)
  if (command === undefined) return []
  const later = isCommandAvailable(command) ? "" : " *(later)*"
  const aliases =
    command.aliases === undefined ? "" : ` Also: ${command.aliases.map((name) => `\`${name}\``).join(", ")}.`
  return [
    `${"#".repeat(chain.length + 2)} \`hermes ${chain.map((entry) => entry.name).join(" ")}\`${later}`,
    "",
    `${command.summary[0]?.toUpperCase() ?? ""}${command.summary.slice(1)}.${aliases}`,
    "",
    ...(command.details === undefined ? [] : [command.details, ""]),
    `\`${usageLine(chain)}\``,
    "",
    ...(command.positionals ?? []).map((positional) => `- \`${positional.name}\`: ${positional.summary}`),
    ...((command.positionals ?? []).length > 0 ? [""] : []),
    ...flagTable(command.flags ?? []),
    ...((command.flags ?? []).some(isListed) ? [""] : []),
    ...(command.subcommands ?? []).flatMap((entry) => commandSection([...chain, entry])),
  ]
}

function flagTable(flags: readonly Flag[]): readonly string[] {
  const rows = flags.filter(isListed).map((flag) => {
    const notes = [flag.repeatable === true ? "may be repeated" : "", flag.later === true ? "*later*" : ""]
    return `| \`${flagUsage(flag).replaceAll("|", "\\|")}\` | ${[flag.summary, ...notes].filter((note) => note !== "").join("; ")} |`
  })
  return rows.length === 0 ? [] : ["| Flag | Description |", "|---|---|", ...rows]
}
