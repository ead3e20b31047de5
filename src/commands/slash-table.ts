import { assertNever } from "../base/assert-never.ts"
import { nearest } from "../base/nearest.ts"
import type { SessionSummary } from "../state/store.ts"
import { modelCommand } from "./model.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** Every slash command. */
export const SLASH_COMMANDS: readonly SlashCommand[] = [
  { name: "help", aliases: ["?"], help: "show these commands", run: () => Promise.resolve(say(helpText())) },
  { name: "new", aliases: ["reset"], help: "start a new conversation", run: startNew },
  { name: "resume", help: "continue another session", argument: "ID or TITLE", run: resumeOther },
  { name: "sessions", help: "list recent sessions", run: listRecent },
  { name: "title", help: "show or set the title of this session", argument: "[TITLE]", run: showOrSetTitle },
  { name: "status", help: "show model, session and permissions", run: showStatus },
  modelCommand,
  {
    name: "tools",
    help: "list the tools the model may use",
    run: (_argument, { session }) => Promise.resolve(say(session.facts.tools.join("\n"))),
  },
  { name: "exit", aliases: ["quit", "q"], help: "leave", run: () => Promise.resolve({ kind: "leave" }) },
]

/** Runs what a line that starts with `/` names; an unknown name is answered with the closest one. */
export async function runSlashCommand(line: string, context: SlashContext): Promise<SlashOutcome> {
  const [word = "", ...rest] = line.slice(1).trim().split(/\s+/)
  const wanted = word.toLowerCase()
  const exact = SLASH_COMMANDS.find(({ name, aliases = [] }) => name === wanted || aliases.includes(wanted))
  const prefixed = SLASH_COMMANDS.filter(({ name }) => wanted !== "" && name.startsWith(wanted))
  const command = exact ?? (prefixed.length === 1 ? prefixed[0] : undefined)
  if (command === undefined) return say(unknownText(wanted, prefixed))
  return await command.run(rest.join(" "), context)
}

function say(text: string): SlashOutcome {
  return { kind: "say", text }
}

function helpText(): string {
  const rows = SLASH_COMMANDS.map(
    ({ name, argument, help }) => [`/${name}${argument === undefined ? "" : ` ${argument}`}`, help] as const,
  )
  const width = Math.max(...rows.map(([usage]) => usage.length))
  return rows.map(([usage, help]) => `${usage.padEnd(width)}  ${help}`).join("\n")
}

function unknownText(word: string, candidates: readonly SlashCommand[]): string {
  if (candidates.length > 1) return `/${word} could be ${candidates.map(({ name }) => `/${name}`).join(" or ")}.`
  const close = nearest(
    word,
    SLASH_COMMANDS.map(({ name }) => name),
  )
  return `There is no command /${word}${close === undefined ? "." : `; did you mean /${close}?`} Type /help for a list.`
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

async function showStatus(_argument: string, { session }: SlashContext): Promise<SlashOutcome> {
  const { facts } = session
  return say(
    [
      `session      ${session.id}${facts.unsaved === undefined ? "" : ` (not saved: ${facts.unsaved})`}`,
      `title        ${(await session.title()) ?? "-"}`,
      `model        ${facts.model} (${facts.provider})`,
      `directory    ${facts.cwd}`,
      `permissions  ${facts.permissionProfile}`,
      `tools        ${facts.tools.length}`,
    ].join("\n"),
  )
}
