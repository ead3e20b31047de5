import { assertNever } from "../base/assert-never.ts"
import { nearest } from "../base/nearest.ts"
import { createLearningsStore } from "../knowledge/learnings/learnings-store.ts"
import type { LearningsStore } from "../knowledge/learnings/learnings-store.ts"
import type { SessionSummary } from "../state/store.ts"
import { branchCommand } from "./branch.ts"
import { compressCommand } from "./compress.ts"
import { imageCommand } from "./image.ts"
import { learningsCommand } from "./learnings.ts"
import { memoryCommand } from "./memory.ts"
import { modelCommand } from "./model.ts"
import { queueCommand } from "./queue.ts"
import { rollbackCommand } from "./rollback.ts"
import type { RollbackAccess } from "./rollback.ts"
import { statusCommand } from "./status.ts"
import { steerCommand } from "./steer.ts"
import { stopCommand } from "./stop.ts"
import { todoCommand } from "./todo.ts"
import { undoCommand } from "./undo.ts"
import { usageCommand } from "./usage.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** Every slash command. */
export const SLASH_COMMANDS: readonly SlashCommand[] = [
  { name: "help", aliases: ["?"], help: "show these commands", run: () => Promise.resolve(say(helpText())) },
  { name: "new", aliases: ["reset"], help: "start a new conversation", run: startNew },
  { name: "resume", help: "continue another session", argument: "ID or TITLE", idle: true, run: resumeOther },
  { name: "sessions", help: "list recent sessions", run: listRecent },
  { name: "title", help: "show or set the title of this session", argument: "[TITLE]", run: showOrSetTitle },
  statusCommand,
  usageCommand,
  modelCommand,
  compressCommand,
  imageCommand,
  undoCommand,
  rollbackCommand(rollbackOf),
  branchCommand,
  queueCommand,
  steerCommand,
  stopCommand,
  todoCommand,
  memoryCommand,
  learningsCommand(learningsOf),
  {
    name: "tools",
    help: "list the tools the model may use",
    run: (_argument, { session }) => Promise.resolve(say(session.facts.tools.join("\n"))),
  },
  { name: "quit", aliases: ["exit"], help: "leave", run: () => Promise.resolve({ kind: "leave" }) },
]

/** Whether a line is meant as a command; a first word with another `/` in it is a path. */
export function isSlashLine(line: string): boolean {
  return /^\/[^\s/]*(?:\s|$)/u.test(line)
}

/** Runs what a line that starts with `/` names; an unknown name is answered with the closest one. */
export async function runSlashCommand(line: string, context: SlashContext): Promise<SlashOutcome> {
  const [, word = "", argument = ""] = /^\/(\S*)\s*([^]*)$/u.exec(line.trim()) ?? []
  const wanted = word.toLowerCase()
  const { command, candidates } = findCommand(wanted)
  if (command === undefined) return say(unknownText(wanted, candidates))
  if (command.idle === true && context.running)
    return say(`/${command.name} has to wait: an answer is running. /stop ends it.`)
  return await command.run(argument, context)
}

/** The exact name or alias; else the one with the single shortest name that begins like it, names before aliases. */
function findCommand(wanted: string): {
  readonly command: SlashCommand | undefined
  readonly candidates: readonly SlashCommand[]
} {
  const exact = SLASH_COMMANDS.find(({ name, aliases = [] }) => name === wanted || aliases.includes(wanted))
  if (exact !== undefined || wanted === "") return { command: exact, candidates: [] }
  const named = SLASH_COMMANDS.filter(({ name }) => name.startsWith(wanted))
  const candidates =
    named.length > 0 ? named : SLASH_COMMANDS.filter(({ aliases = [] }) => aliases.some((it) => it.startsWith(wanted)))
  const shortest = Math.min(...candidates.map(({ name }) => name.length))
  const [first, ...rest] = candidates.filter(({ name }) => name.length === shortest)
  return { command: rest.length === 0 ? first : undefined, candidates }
}

function say(text: string): SlashOutcome {
  return { kind: "say", text }
}

function helpText(): string {
  const rows = SLASH_COMMANDS.map(({ name, aliases = [], argument, help }) => {
    const usage = `/${name}${argument === undefined ? "" : ` ${argument}`}`
    const also = aliases.length === 0 ? "" : ` (also ${aliases.map((alias) => `/${alias}`).join(", ")})`
    return [usage, `${help}${also}`] as const
  })
  const width = Math.max(...rows.map(([usage]) => usage.length))
  return rows.map(([usage, text]) => `${usage.padEnd(width)}  ${text}`).join("\n")
}

function unknownText(word: string, candidates: readonly SlashCommand[]): string {
  if (candidates.length > 1) return `/${word} could be ${candidates.map(({ name }) => `/${name}`).join(" or ")}.`
  const close = nearest(
    word,
    SLASH_COMMANDS.map(({ name }) => name),
  )
  return `There is no command /${word}${close === undefined ? "." : `; did you mean /${close}?`} Type /help for a list.`
}

function learningsOf({ app }: SlashContext): LearningsStore {
  return createLearningsStore({
    path: app.home.file("learnings.jsonl"),
    clock: app.clock,
    redact: (text) => app.redactor.redact(text),
  })
}

async function rollbackOf({ app, session }: SlashContext): Promise<RollbackAccess | undefined> {
  const checkpoints = await session.checkpoints()
  if (checkpoints === undefined) return undefined
  return {
    checkpoints,
    enabled: app.config.get("checkpoints.enabled"),
    dropLastTurn: async () => (await session.undo()) !== undefined,
  }
}

async function startNew(_argument: string, { open }: SlashContext): Promise<SlashOutcome> {
  return { kind: "switch", session: await open(undefined), text: "A new conversation begins." }
}

async function resumeOther(argument: string, { app, open }: SlashContext): Promise<SlashOutcome> {
  if (argument === "") return say("Name a session: /resume ID or TITLE. /sessions lists them.")
  const found = await (await app.store()).resumeTarget(argument)
  if (found === undefined) return say(`There is no session "${argument}". /sessions lists them.`)
  const session = await open(found)
  return { kind: "switch", session, text: `Continuing ${found} (${session.facts.messages} messages).` }
}

async function listRecent(_argument: string, { app }: SlashContext): Promise<SlashOutcome> {
  const sessions = await (await app.store()).list({ limit: 15, orderBy: "last-activity", excludeSources: ["tool"] })
  return say(sessions.length === 0 ? "There are no sessions yet." : sessions.map(sessionLine).join("\n"))
}

function sessionLine(summary: SessionSummary): string {
  return `${summary.id}  ${summary.title ?? summary.preview}`
}

async function showOrSetTitle(argument: string, { app, session }: SlashContext): Promise<SlashOutcome> {
  if (argument === "") return say((await session.title()) ?? "This session has no title yet.")
  const outcome = await (await app.store()).setTitle(session.id, argument)
  switch (outcome.kind) {
    case "set":
      return say(`The title is now "${outcome.title ?? ""}".`)
    case "too-long":
      return say(`That title has ${outcome.length} characters; at most ${outcome.limit} are possible.`)
    case "taken":
      return say(`Session ${outcome.by} has that title already.`)
    case "no-session":
      return say("Say something first: a session is kept from its first message on.")
    default:
      return assertNever(outcome)
  }
}
