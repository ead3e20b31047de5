import { ellipsize } from "../base/text.ts"
import { newSessionId } from "../state/session-id.ts"
import { StoreError } from "../state/store.ts"
import type { MessageRow } from "../state/store.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** `/branch`: goes on in a copy of this conversation, from its end or from an earlier message. */
export const branchCommand: SlashCommand = {
  name: "branch",
  aliases: ["fork"],
  help: "go on in a copy of this conversation",
  argument: "[--from [MESSAGE]] [NAME]",
  idle: true,
  run: branchOff,
}

const MAX_LISTED = 30

async function branchOff(argument: string, { app, session, open }: SlashContext): Promise<SlashOutcome> {
  const store = await app.store()
  const parent = await store.session(session.id)
  if (parent === undefined || parent.messageCount === 0)
    return say("Say something first: there is nothing to branch from yet.")
  const wish = readWish(argument)
  if (wish === "list") return say(messageList(await store.messages(session.id)))
  if (wish === undefined)
    return say("Use /branch [NAME], or /branch --from MESSAGE [NAME]; /branch --from lists the messages.")
  const id = newSessionId(app.clock)
  const child = {
    id,
    source: parent.source,
    startedAt: app.clock.now() / 1000,
    // The same prompt: what was sent so far stays valid in the provider's cache.
    ...(parent.systemPrompt === null ? {} : { systemPrompt: parent.systemPrompt }),
  }
  const title = await orRefusal(store.branch(session.id, child, wish))
  if (title instanceof StoreError) return say(`${title.message} /branch --from lists the messages.`)
  const next = await open(id)
  return {
    kind: "switch",
    session: next,
    text: `This is now "${title}" (${id}) with ${next.facts.messages} messages; ${session.id} stays as it was. Files are not changed.`,
  }
}

interface Wish {
  readonly title?: string
  readonly upTo?: number
}

function readWish(argument: string): Wish | "list" | undefined {
  const text = argument.trim()
  if (text === "--from") return "list"
  const [, from, name = ""] = /^(?:--from[\s=]+(\S+)\s*)?([^]*)$/u.exec(text) ?? []
  if (name.startsWith("--") || (from !== undefined && !/^\d{1,15}$/u.test(from))) return undefined
  return { ...(name === "" ? {} : { title: name }), ...(from === undefined ? {} : { upTo: Number(from) }) }
}

async function orRefusal(branching: Promise<string>): Promise<string | StoreError> {
  try {
    return await branching
  } catch (error) {
    if (error instanceof StoreError && error.kind === "failed") return error
    throw error
  }
}

function messageList(messages: readonly MessageRow[]): string {
  const spoken = messages.filter((row) => row.role === "user" || (row.role === "assistant" && row.text.trim() !== ""))
  const shown = spoken.slice(-MAX_LISTED)
  const width = Math.max(0, ...shown.map((row) => String(row.id).length))
  return [
    ...shown.map(
      (row) => `${String(row.id).padStart(width)}  ${row.role === "user" ? "you" : "   "}  ${firstWords(row.text)}`,
    ),
    "/branch --from N copies everything up to and with message N.",
  ].join("\n")
}

function firstWords(text: string): string {
  return ellipsize(text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim(), 80)
}

function say(text: string): SlashOutcome {
  return { kind: "say", text }
}
