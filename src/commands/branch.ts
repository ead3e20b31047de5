import { branchStoredSession, type BranchOptions } from "../admin/sessions/change-session.ts"
import { ellipsize } from "../base/text.ts"
import type { MessageRow } from "../state/store.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/branch`: continues in a copy of this conversation, from its end or from an earlier message. */
export const branchCommand: SlashCommand = {
  name: "branch",
  category: "conversation",
  aliases: ["fork"],
  help: "continue in a copy of this conversation",
  argument: "[--from [MESSAGE]] [NAME]",
  idleOnly: true,
  run: branchConversation,
}

const USAGE = "Usage: /branch [NAME], or /branch --from MESSAGE [NAME]. /branch --from lists the messages."
const MAX_LISTED = 30

async function branchConversation(argument: string, { app, session, open }: SlashContext): Promise<SlashOutcome> {
  const store = await app.store()
  const parent = await store.session(session.id)
  if (parent === undefined || parent.messageCount === 0)
    return reply("There is nothing to branch from yet. Send a message first.")
  const options = parseBranchArgument(argument)
  if (options === "list") return reply(messageList(await store.messages(session.id)))
  if (options === undefined) return reply(USAGE)
  const branched = await branchStoredSession(store, parent, { ...options, clock: app.clock })
  if (!branched.ok) return reply(`${branched.error.message} /branch --from lists the messages.`)
  const { id, title } = branched.value
  const next = await open(id)
  return {
    kind: "switch",
    isBranch: true,
    session: next,
    text: `You are now in "${title}" (${id}), a copy with ${next.facts.messages} messages. ${session.id} is unchanged, and so are your files.`,
  }
}

/** Returns "list" for `--from` without a message, and undefined for an argument that does not fit. */
function parseBranchArgument(argument: string): BranchOptions | "list" | undefined {
  const text = argument.trim()
  if (text === "--from") return "list"
  const [, from, name = ""] = /^(?:--from[\s=]+(\S+)\s*)?([^]*)$/u.exec(text) ?? []
  if (name.startsWith("--") || (from !== undefined && !/^\d{1,15}$/u.test(from))) return undefined
  return { title: name === "" ? undefined : name, upTo: from === undefined ? undefined : Number(from) }
}

function messageList(messages: readonly MessageRow[]): string {
  const shown = messages
    .filter((row) => row.role === "user" || (row.role === "assistant" && row.text.trim() !== ""))
    .slice(-MAX_LISTED)
  const width = Math.max(0, ...shown.map((row) => String(row.id).length))
  return [
    ...shown.map(
      (row) => `${String(row.id).padStart(width)}  ${row.role === "user" ? "you" : "   "}  ${excerpt(row.text)}`,
    ),
    "/branch --from N copies everything up to and including message N.",
  ].join("\n")
}

function excerpt(text: string): string {
  return ellipsize(text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim(), 80)
}
