import type { Command, CommandGroup, CommandTree, Flag } from "../command.ts"

export const GROUP_TITLES: Readonly<Record<CommandGroup, string>> = {
  chat: "Chat",
  sessions: "Sessions",
  settings: "Settings",
  extend: "Extend",
  automate: "Automate",
  connect: "Connect",
  maintenance: "Maintenance",
}

/** True when the command, or at least one of its subcommands, works in this release. */
export function isCommandAvailable(command: Command): boolean {
  return command.load !== undefined || (command.subcommands ?? []).some(isCommandAvailable)
}

/**
 * The flags of the last command of a chain, its own first. Those of a command above belong to its subcommands too, unless it can be run
 * itself: then they are its own.
 */
export function flagsOf(chain: readonly Command[]): readonly Flag[] {
  const last = chain.at(-1)
  return chain.toReversed().flatMap((command) => {
    const applies = command === last || command.load === undefined
    return applies ? (command.flags ?? []) : []
  })
}

/** Returns the names and aliases of the top-level commands. */
export function commandNames(tree: CommandTree): readonly string[] {
  return tree.commands.flatMap((command) => [command.name, ...(command.aliases ?? [])])
}

export function findCommand(commands: readonly Command[], word: string): Command | undefined {
  return commands.find((command) => command.name === word || command.aliases?.includes(word) === true)
}
