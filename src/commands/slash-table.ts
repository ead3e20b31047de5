import { nearest } from "../base/nearest-name.ts"
import { agentsCommand } from "./agents.ts"
import { backgroundCommand } from "./background.ts"
import { branchCommand } from "./branch.ts"
import { compressCommand } from "./compress.ts"
import { configCommand } from "./config.ts"
import {
  busyCommand,
  detailsCommand,
  indicatorCommand,
  mouseCommand,
  redrawCommand,
  skinCommand,
  statusBarCommand,
  verboseCommand,
} from "./display.ts"
import { helpText } from "./help.ts"
import { copyCommand, historyCommand, saveCommand } from "./history.ts"
import { imageCommand, pasteCommand } from "./image.ts"
import { profileCommand, versionCommand, whoamiCommand } from "./information.ts"
import { insightsCommand } from "./insights.ts"
import { learningsCommand } from "./learnings.ts"
import { memoryCommand } from "./memory.ts"
import { modelCommand } from "./model.ts"
import { clearCommand, newCommand } from "./new-conversation.ts"
import { listOwnCommands, runPromptFile, runQuick, type OwnCommand } from "./own-commands.ts"
import { permissionsCommand, yoloCommand } from "./permissions.ts"
import { personalityCommand } from "./personality.ts"
import { planCommand } from "./plan.ts"
import { runPluginCommand } from "./plugin-command.ts"
import { pluginsCommand } from "./plugins.ts"
import { providerCommand } from "./provider.ts"
import { queueCommand } from "./queue.ts"
import { quitCommand } from "./quit.ts"
import { reasoningCommand } from "./reasoning.ts"
import { reloadCommand } from "./reload.ts"
import { reloadMcpCommand, runPromptCommand } from "./reload-mcp.ts"
import { resumeCommand, sessionsCommand } from "./resume.ts"
import { rollbackCommand } from "./rollback.ts"
import { reloadSkillsCommand, runSkillCommand, skillsCommand } from "./skills.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"
import { snapshotCommand } from "./snapshot.ts"
import { statusCommand } from "./status.ts"
import { steerCommand } from "./steer.ts"
import { stopCommand } from "./stop.ts"
import { terminalSetupCommand } from "./terminal-setup.ts"
import { titleCommand } from "./title.ts"
import { todoCommand } from "./todo.ts"
import { toolsCommand, toolsetsCommand } from "./tools.ts"
import { retryCommand, undoCommand } from "./undo.ts"
import { usageCommand } from "./usage.ts"

const helpCommand: SlashCommand = {
  name: "help",
  aliases: ["?"],
  category: "information",
  help: "list the commands, or show more about one",
  argument: "[COMMAND]",
  completes: "command",
  run: async (argument, { app, session }) =>
    reply(helpText(argument, SLASH_COMMANDS, await listOwnCommands(app, session))),
}

/** All slash commands, in the order of `/help`. */
export const SLASH_COMMANDS: readonly SlashCommand[] = [
  helpCommand,
  newCommand,
  clearCommand,
  resumeCommand,
  sessionsCommand,
  titleCommand,
  historyCommand,
  saveCommand,
  copyCommand,
  retryCommand,
  undoCommand,
  branchCommand,
  rollbackCommand,
  compressCommand,
  queueCommand,
  steerCommand,
  stopCommand,
  backgroundCommand,
  imageCommand,
  pasteCommand,
  modelCommand,
  providerCommand,
  reasoningCommand,
  personalityCommand,
  planCommand,
  permissionsCommand,
  yoloCommand,
  toolsCommand,
  toolsetsCommand,
  agentsCommand,
  pluginsCommand,
  reloadMcpCommand,
  reloadCommand,
  memoryCommand,
  learningsCommand,
  skillsCommand,
  reloadSkillsCommand,
  verboseCommand,
  detailsCommand,
  statusBarCommand,
  indicatorCommand,
  mouseCommand,
  skinCommand,
  busyCommand,
  redrawCommand,
  terminalSetupCommand,
  statusCommand,
  usageCommand,
  insightsCommand,
  todoCommand,
  configCommand,
  snapshotCommand,
  profileCommand,
  whoamiCommand,
  versionCommand,
  quitCommand,
]

/** An alias of the settings may name another one, but not for ever. */
const MAX_ALIASES = 5

/** Runs the command that a line names. An unknown name gets a reply with the closest command. */
export async function runSlashCommand(line: string, context: SlashContext): Promise<SlashOutcome> {
  return await dispatch(line, context, MAX_ALIASES)
}

async function dispatch(line: string, context: SlashContext, aliasesLeft: number): Promise<SlashOutcome> {
  const [, word = "", argument = ""] = /^\/(\S*)\s*([^]*)$/u.exec(line.trim()) ?? []
  const typed = word.toLowerCase()
  const exact = exactCommand(typed)
  if (exact !== undefined) return await runBuiltin(exact, argument, context)
  const redispatch = async (next: string): Promise<SlashOutcome> =>
    aliasesLeft === 0
      ? reply(`/${typed} leads to too many aliases. Check quick_commands in the settings.`)
      : await dispatch(next, context, aliasesLeft - 1)
  // A command of the user, a plugin, a skill or an MCP server wins over an abbreviation, but not over a command of its name.
  const invoked =
    typed === ""
      ? undefined
      : ((await runQuick(typed, argument, { context, redispatch })) ??
        (await runPluginCommand(typed, argument, context)) ??
        (await runPromptFile(typed, argument, context)) ??
        (await runSkillCommand(typed, argument, context)) ??
        (await runPromptCommand(typed, argument, context)))
  if (invoked !== undefined) return invoked
  const own = await listOwnCommands(context.app, context.session)
  const { name, candidates } = findByPrefix(typed, own)
  if (name === undefined) return reply(unknownText(typed, candidates, own))
  const command = exactCommand(name)
  return command === undefined ? await redispatch(`/${name} ${argument}`) : await runBuiltin(command, argument, context)
}

async function runBuiltin(command: SlashCommand, argument: string, context: SlashContext): Promise<SlashOutcome> {
  if (command.idleOnly === true && context.running)
    return reply(`/${command.name} is not available while a reply is being generated. /stop interrupts it.`)
  if (command.argument === undefined && argument !== "")
    return reply(`/${command.name} takes no argument, so nothing was done. Type /${command.name} alone.`)
  return await command.run(argument, context)
}

function exactCommand(typed: string): SlashCommand | undefined {
  return SLASH_COMMANDS.find(({ name, aliases = [] }) => name === typed || aliases.includes(typed))
}

/** Finds a command by the start of its name: names before aliases, and the shortest name if it is unique. */
function findByPrefix(
  typed: string,
  own: readonly OwnCommand[],
): { readonly name: string | undefined; readonly candidates: readonly string[] } {
  if (typed === "") return { name: undefined, candidates: [] }
  const abbreviated = SLASH_COMMANDS.filter(({ needsWholeName }) => needsWholeName !== true)
  const names = [...new Set([...abbreviated, ...own].map(({ name }) => name))]
  const named = names.filter((name) => name.startsWith(typed))
  const candidates =
    named.length > 0
      ? named
      : SLASH_COMMANDS.filter(({ aliases = [] }) => aliases.some((alias) => alias.startsWith(typed))).map(
          ({ name }) => name,
        )
  const shortest = Math.min(...candidates.map((name) => name.length))
  const [first, ...rest] = candidates.filter((name) => name.length === shortest)
  return { name: rest.length === 0 ? first : undefined, candidates }
}

function unknownText(word: string, candidates: readonly string[], own: readonly OwnCommand[]): string {
  if (candidates.length > 1) return `/${word} is ambiguous: ${candidates.map((name) => `/${name}`).join(" or ")}.`
  const closest = nearest(
    word,
    [...SLASH_COMMANDS, ...own].map(({ name }) => name),
  )
  return `There is no command /${word}.${closest === undefined ? "" : ` Did you mean /${closest}?`} Type /help for a list.`
}
