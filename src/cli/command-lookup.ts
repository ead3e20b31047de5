import type { Command, CommandGroup } from "./command.ts"

export const GROUP_TITLES: Readonly<Record<CommandGroup, string>> = {
  talk: "Talk",
  sessions: "Sessions",
  settings: "Settings",
  extend: "Extend",
  automate: "Automate",
  connect: "Connect",
  care: "Care",
}

/** Whether anything of the command works in this release. */
export function isAvailable(command: Command): boolean {
  return command.load !== undefined || (command.subcommands ?? []).some(isAvailable)
}

export function findCommand(commands: readonly Command[], word: string): Command | undefined {
  return commands.find((command) => command.name === word || command.aliases?.includes(word) === true)
}
