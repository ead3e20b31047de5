import { assertNever } from "../base/assert-never.ts"
import { nearest } from "../base/nearest-name.ts"
import type { SessionSummary } from "../state/store.ts"
import { agentsCommand } from "./agents.ts"
import { branchCommand } from "./branch.ts"
import { compressCommand } from "./compress.ts"
import { imageCommand } from "./image.ts"
import { learningsCommand } from "./learnings.ts"
import { memoryCommand } from "./memory.ts"
import { modelCommand } from "./model.ts"
import { permissionsCommand, yoloCommand } from "./permissions.ts"
import { planCommand } from "./plan.ts"
import { queueCommand } from "./queue.ts"
import { reloadMcpCommand, runPromptCommand } from "./reload-mcp.ts"
import { rollbackCommand } from "./rollback.ts"
import { reloadSkillsCommand, runSkillCommand, skillsCommand } from "./skills.ts"
import { statusCommand } from "./status.ts"
import { steerCommand } from "./steer.ts"
import { stopCommand } from "./stop.ts"
import { todoCommand } from "./todo.ts"
import { undoCommand } from "./undo.ts"
import { usageCommand } from "./usage.ts"
import { runPluginCommand } from "./plugin-command.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** All slash commands, in the order of `/help`. */
export const SLASH_COMMANDS: readonly SlashCommand[] = [
  { name: "help", aliases: ["?"], help: "list these commands", run: () => Promise.resolve(reply(helpText())) },
  { name: "new", aliases: ["reset"], help: "start a new conversation", run: startNew },
  { name: "resume", help: "continue another session", argument: "ID or TITLE", idleOnly: true, run: resumeOther },
  { name: "sessions", help: "list recent sessions", run: listRecent },
  { name: "title", help: "show or set the title of this session", argument: "[TITLE]", run: showOrSetTitle },
  statusCommand,
  usageCommand,
  modelCommand,
  compressCommand,
  imageCommand,
  undoCommand,
  planCommand,
  permissionsCommand,
  yoloCommand,
  rollbackCommand,
  branchCommand,
  queueCommand,
  steerCommand,
  stopCommand,
  agentsCommand,
  todoCommand,
  memoryCommand,
  learningsCommand,
  skillsCommand,
  reloadSkillsCommand,
  reloadMcpCommand,
  {
    name: "tools",
    help: "list the tools the model may use",
    run: (_argument, { session }) => Promise.resolve(reply(session.facts.tools.join("\n"))),
  },
  { name: "quit", aliases: ["exit"], help: "quit Hermes", run: () => Promise.resolve({ kind: "quit" }) },
]

/** True for a line that starts with a command. A first word with a second `/` is a path. */
export function isSlashLine(line: string): boolean {
  return /^\/[^\s/]*(?:\s|$)/u.test(line)
}

/** Runs the command that a line names. An unknown name gets a reply with the closest command. */
export async function runSlashCommand(line: string, context: SlashContext): Promise<SlashOutcome> {
  const [, word = "", argument = ""] = /^\/(\S*)\s*([^]*)$/u.exec(line.trim()) ?? []
  const typed = word.toLowerCase()
  // A skill or a prompt of an MCP server wins over an abbreviation, but not over a command of its name.
  const invoked =
    exactCommand(typed) === undefined
      ? ((await runPluginCommand(typed, argument, context)) ??
        (await runSkillCommand(typed, argument, context)) ??
        (await runPromptCommand(typed, argument, context)))
      : undefined
  if (invoked !== undefined) return invoked
  const { command, candidates } = findSlashCommand(typed)
  if (command === undefined) return reply(unknownText(typed, candidates))
  if (command.idleOnly === true && context.running)
    return reply(`/${command.name} is not available while a reply is being generated. /stop interrupts it.`)
  return await command.run(argument, context)
}

function exactCommand(typed: string): SlashCommand | undefined {
  return SLASH_COMMANDS.find(({ name, aliases = [] }) => name === typed || aliases.includes(typed))
}

/** Finds a command by exact name or alias, or else by prefix: names before aliases, and the shortest name if it is unique. */
function findSlashCommand(typed: string): {
  readonly command: SlashCommand | undefined
  readonly candidates: readonly SlashCommand[]
} {
  const exact = exactCommand(typed)
  if (exact !== undefined || typed === "") return { command: exact, candidates: [] }
  const named = SLASH_COMMANDS.filter(({ name }) => name.startsWith(typed))
  const candidates =
    named.length > 0
      ? named
      : SLASH_COMMANDS.filter(({ aliases = [] }) => aliases.some((alias) => alias.startsWith(typed)))
  const shortest = Math.min(...candidates.map(({ name }) => name.length))
  const [first, ...rest] = candidates.filter(({ name }) => name.length === shortest)
  return { command: rest.length === 0 ? first : undefined, candidates }
}

function helpText(): string {
  const rows = SLASH_COMMANDS.map(({ name, aliases = [], argument, help }) => {
    const usage = `/${name}${argument === undefined ? "" : ` ${argument}`}`
    const also = aliases.length === 0 ? "" : ` (also ${aliases.map((alias) => `/${alias}`).join(", ")})`
    return [usage, `${help}${also}`] as const
  })
  // A few commands have many arguments; they get a line of their own.
  return rows
    .map(([usage, text]) =>
      usage.length > USAGE_WIDTH
        ? `${usage}\n${" ".repeat(USAGE_WIDTH)}  ${text}`
        : `${usage.padEnd(USAGE_WIDTH)}  ${text}`,
    )
    .join("\n")
}

const USAGE_WIDTH = 26

function unknownText(word: string, candidates: readonly SlashCommand[]): string {
  if (candidates.length > 1) return `/${word} is ambiguous: ${candidates.map(({ name }) => `/${name}`).join(" or ")}.`
  const closest = nearest(
    word,
    SLASH_COMMANDS.map(({ name }) => name),
  )
  return `There is no command /${word}.${closest === undefined ? "" : ` Did you mean /${closest}?`} Type /help for a list.`
}

async function startNew(_argument: string, { open }: SlashContext): Promise<SlashOutcome> {
  return { kind: "switch", session: await open(undefined), text: "Started a new conversation." }
}

async function resumeOther(argument: string, { app, open }: SlashContext): Promise<SlashOutcome> {
  if (argument === "") return reply("Usage: /resume ID or TITLE. /sessions lists the sessions.")
  const store = await app.store()
  const found = await store.resumeTarget(argument)
  if (found === undefined) {
    const { ambiguousSession } = await import("../app/services/ambiguous-session.ts")
    const none = `There is no session "${argument}". /sessions lists the recent ones.`
    return reply((await ambiguousSession(store, argument)) ?? none)
  }
  const session = await open(found)
  const ending = session.facts.endsInterrupted ? " The last reply was interrupted." : ""
  return { kind: "switch", session, text: `Continuing ${found} (${session.facts.messages} messages).${ending}` }
}

async function listRecent(_argument: string, { app }: SlashContext): Promise<SlashOutcome> {
  const sessions = await (await app.store()).list({ limit: 15, orderBy: "last-activity", excludeSources: ["tool"] })
  return reply(sessions.length === 0 ? "There are no sessions yet." : sessions.map(sessionLine).join("\n"))
}

function sessionLine(summary: SessionSummary): string {
  return `${summary.id}  ${summary.title ?? summary.preview}`
}

async function showOrSetTitle(argument: string, { app, session }: SlashContext): Promise<SlashOutcome> {
  if (argument === "") return reply((await session.title()) ?? "This session has no title yet.")
  const outcome = await (await app.store()).setTitle(session.id, argument)
  switch (outcome.kind) {
    case "set":
      return reply(`The title is now "${outcome.title ?? ""}".`)
    case "too-long":
      return reply(`The title is too long: ${outcome.length} characters, the limit is ${outcome.limit}.`)
    case "taken":
      return reply(`Session ${outcome.by} already has this title or id.`)
    case "no-session":
      return reply("The session is not saved yet. Send a message first.")
    default:
      return assertNever(outcome)
  }
}
