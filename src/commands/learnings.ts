import { ellipsize } from "../base/text.ts"
import type { Learning } from "../knowledge/learnings/learning.ts"
import type { LearningsStore } from "../knowledge/learnings/learnings-store.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

type ListedStore = Pick<LearningsStore, "list" | "remove">

/** `/learnings`: what earlier errors taught, and taking one of them out. */
export function learningsCommand(storeOf: (context: SlashContext) => ListedStore | Promise<ListedStore>): SlashCommand {
  return {
    name: "learnings",
    help: "list what earlier errors taught, or remove one",
    argument: "[remove ID]",
    run: async (argument, context) => await listOrRemove(argument, await storeOf(context)),
  }
}

const MAX_LISTED = 30
const MAX_TEXT_CHARS = 160

async function listOrRemove(argument: string, store: ListedStore): Promise<SlashOutcome> {
  const [action = "list", id, ...more] = argument.split(/\s+/u).filter((word) => word !== "")
  if (action === "remove" && id !== undefined && more.length === 0) {
    const removed = await store.remove(id.replace(/^learning:/u, ""))
    return say(removed.ok ? `Removed ${removed.value.id}: ${short(removed.value.pattern)}` : `${removed.error}.`)
  }
  if (action !== "list" || id !== undefined) return say("Use /learnings, or /learnings remove ID.")
  const listed = store.list()
  return say(listed.ok ? listText(listed.value) : `${listed.error}.`)
}

function listText(learnings: readonly Learning[]): string {
  if (learnings.length === 0) return "Nothing has been learned from errors yet."
  const left = learnings.length - MAX_LISTED
  return [
    ...learnings.slice(0, MAX_LISTED).flatMap(lines),
    ...(left > 0 ? [`${left} older ones are not shown.`] : []),
    "Take one out with /learnings remove ID.",
  ].join("\n")
}

function lines(learning: Learning): readonly string[] {
  const times = learning.timesUsed === 1 ? "once" : `${learning.timesUsed} times`
  const used = learning.timesUsed === 0 ? "" : ` (used ${times})`
  const noticed = learning.source === "auto" ? " (noticed)" : ""
  return [
    `${learning.id}  ${short(learning.pattern)}${used}${noticed}`,
    `${" ".repeat(learning.id.length)}  → ${short(learning.fix)}`,
  ]
}

function short(text: string): string {
  return ellipsize(text.replaceAll(/\s+/gu, " ").trim(), MAX_TEXT_CHARS)
}

function say(text: string): SlashOutcome {
  return { kind: "say", text }
}
