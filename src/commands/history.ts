import { existsSync } from "node:fs"
import { join, resolve } from "node:path"

import { assertNever } from "../base/assert-never.ts"
import { ellipsize } from "../base/text.ts"
import type { MessageRow } from "../state/store.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/history`: the messages of this conversation. */
export const historyCommand: SlashCommand = {
  name: "history",
  category: "conversation",
  help: "show the last N messages of this conversation",
  argument: "[N]",
  run: showHistory,
}

/** `/save`: writes the conversation to a file. */
export const saveCommand: SlashCommand = {
  name: "save",
  category: "conversation",
  help: "write this conversation to a file: JSON, or Markdown or HTML by its extension",
  argument: "[PATH]",
  run: saveConversation,
}

/** `/copy`: puts an answer on the clipboard. */
export const copyCommand: SlashCommand = {
  name: "copy",
  category: "conversation",
  help: "copy the last answer, or the N-th last one, to the clipboard",
  argument: "[N]",
  run: copyAnswer,
}

const DEFAULT_SHOWN = 20
const MAX_SHOWN_CHARS = 2000

async function showHistory(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const count = readCount(argument, DEFAULT_SHOWN)
  if (count === undefined) return reply("Usage: /history, or /history N for the last N messages.")
  const spoken = (await storedMessages(context)).filter(isSpoken)
  if (spoken.length === 0) return reply("There are no messages yet.")
  const shown = spoken.slice(-count)
  const earlier = spoken.length - shown.length
  return reply(
    [
      ...(earlier === 0 ? [] : [`… ${earlier} earlier`]),
      ...shown.map(
        ({ role, text }) => `${role === "user" ? "you" : "Hermes"}: ${ellipsize(text.trim(), MAX_SHOWN_CHARS)}`,
      ),
    ].join("\n\n"),
  )
}

async function copyAnswer(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const back = readCount(argument, 1)
  if (back === undefined) return reply("Usage: /copy, or /copy N for the N-th last answer.")
  if (context.copy === undefined)
    return reply("This terminal cannot be asked to copy. /save writes the conversation to a file.")
  const answers = (await storedMessages(context)).filter((row) => row.role === "assistant" && row.text.trim() !== "")
  const answer = answers.at(-back)
  if (answer === undefined)
    return reply(answers.length === 0 ? "There is no answer yet." : `There are only ${answers.length} answers.`)
  const problem = await context.copy(answer.text)
  return reply(problem ?? `Copied ${answer.text.length} characters.`)
}

async function saveConversation(argument: string, { app, session, confirm }: SlashContext): Promise<SlashOutcome> {
  if (!session.isStored) return reply("There is nothing to save yet. Send a message first.")
  const path = resolve(session.facts.cwd, expandedHome(argument.trim(), app) || `hermes-${session.id}.json`)
  const question = `${path} exists. Replace it?`
  if (existsSync(path) && confirm !== undefined && !(await confirm(question))) return reply("Nothing was written.")
  const { saveTranscript } = await import("../admin/transcript/export-transcript.ts")
  const saved = await saveTranscript(app, { session: session.id, path })
  if (saved.ok) return reply(`Saved to ${path}.`)
  switch (saved.error.kind) {
    case "no-session":
      return reply("The conversation is no longer stored: it was deleted elsewhere. /new starts another one.")
    case "is-directory":
      return reply(`${path} is a directory. Name a file in it.`)
    case "cannot-write":
      return reply(`The conversation was not saved to ${path}: ${saved.error.reason}. /save PATH writes it elsewhere.`)
    default:
      return assertNever(saved.error)
  }
}

function expandedHome(path: string, { home }: SlashContext["app"]): string {
  return path.startsWith("~/") ? join(home.userHome, path.slice(2)) : path
}

async function storedMessages({ app, session }: SlashContext): Promise<readonly MessageRow[]> {
  return session.isStored ? await (await app.store()).messages(session.id) : []
}

function isSpoken({ role, text, message }: MessageRow): boolean {
  if (text.trim() === "") return false
  return role === "assistant" || (message?.role === "user" && message.synthetic === undefined)
}

function readCount(argument: string, byDefault: number): number | undefined {
  const text = argument.trim()
  if (text === "") return byDefault
  return /^[1-9]\d{0,4}$/u.test(text) ? Number(text) : undefined
}
