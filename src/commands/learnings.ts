import { listLearnings, removeLearning } from "../admin/learnings/learnings.ts"
import { asSentence } from "../base/sentence.ts"
import { ellipsize } from "../base/text.ts"
import type { Learning } from "../knowledge/learnings/learning.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/learnings`: lists the errors and fixes of earlier sessions, or removes one. */
export const learningsCommand: SlashCommand = {
  name: "learnings",
  category: "knowledge",
  help: "list errors and their fixes from earlier sessions, or remove one",
  argument: "[remove ID]",
  run: listOrRemove,
}

const MAX_LISTED = 30
const MAX_TEXT_CHARS = 160

async function listOrRemove(argument: string, { app }: SlashContext): Promise<SlashOutcome> {
  const [action = "list", id, ...more] = argument.split(/\s+/u).filter((word) => word !== "")
  if (action === "remove" && id !== undefined && more.length === 0) {
    const removed = await removeLearning(app, id.replace(/^learning:/u, ""))
    return reply(
      removed.ok ? `Removed ${removed.value.id}: ${short(removed.value.pattern)}` : asSentence(removed.error),
    )
  }
  if (action !== "list" || id !== undefined) return reply("Usage: /learnings, or /learnings remove ID.")
  const listed = listLearnings(app)
  return reply(listed.ok ? listText(listed.value) : asSentence(listed.error))
}

function listText(learnings: readonly Learning[]): string {
  if (learnings.length === 0) return "There are no learnings yet."
  const hidden = learnings.length - MAX_LISTED
  return [
    ...learnings.slice(0, MAX_LISTED).flatMap(learningLines),
    ...(hidden > 0 ? [`${hidden} older ones are not shown.`] : []),
    "Remove one with /learnings remove ID.",
  ].join("\n")
}

function learningLines(learning: Learning): readonly string[] {
  const times = learning.timesUsed === 1 ? "once" : `${learning.timesUsed} times`
  const used = learning.timesUsed === 0 ? "" : ` (used ${times})`
  const recorded = learning.source === "auto" ? " (recorded automatically)" : ""
  return [
    `${learning.id}  ${short(learning.pattern)}${used}${recorded}`,
    `${" ".repeat(learning.id.length)}  → ${short(learning.fix)}`,
  ]
}

function short(text: string): string {
  return ellipsize(text.replaceAll(/\s+/gu, " ").trim(), MAX_TEXT_CHARS)
}
