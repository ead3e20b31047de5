import {
  approveSkillChange,
  discardSkillChange,
  listPendingSkillChanges,
  pendingSkillDiff,
  type PendingSkillChange,
} from "../admin/skills/review-skills.ts"
import { counted } from "../base/counted.ts"
import { ellipsize } from "../base/text.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/skills`: lists the skills, and shows, approves or discards changes that wait. */
export const skillsCommand: SlashCommand = {
  name: "skills",
  category: "knowledge",
  help: "list the skills, review changes that the agent proposes",
  argument: "[list | search WORDS | pending | diff ID | approve ID|all | reject ID|all | approval on|off]",
  run: showOrReview,
}

export const reloadSkillsCommand: SlashCommand = {
  name: "reload-skills",
  category: "knowledge",
  aliases: ["reload_skills"],
  help: "look for skills again; the list in the prompt changes with the next session",
  run: async (_argument, { session }) => {
    const commands = (await session.skills?.list()) ?? []
    return reply(`${counted(commands.length, "skill")}. skill_view and /NAME find them now; new sessions list them.`)
  },
}

/** Runs a skill as a command; undefined when no skill has this name. */
export async function runSkillCommand(
  slug: string,
  argument: string,
  { session }: SlashContext,
): Promise<SlashOutcome | undefined> {
  const invoked = await session.skills?.invoke(slug, argument)
  if (invoked === undefined) return undefined
  return invoked.ok
    ? { kind: "send", text: invoked.value, typed: true }
    : reply(`The skill cannot be used: ${invoked.error}.`)
}

const USAGE =
  "Usage: /skills, /skills search WORDS, /skills pending, /skills diff ID, /skills approve ID or all, /skills reject ID or all."
const NOTHING_PENDING = "There are no pending changes."

async function showOrReview(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const [action = "list", ...words] = argument.split(/\s+/u).filter((word) => word !== "")
  switch (action.toLowerCase()) {
    case "list":
      return reply(await listText("", context))
    case "search":
      return reply(words.length === 0 ? USAGE : await listText(words.join(" "), context))
    case "pending": {
      const pending = listPendingSkillChanges(context.app)
      return reply(pending.length === 0 ? NOTHING_PENDING : pendingLines(pending).join("\n"))
    }
    case "diff":
      return reply(await forEach(words[0], context, (staged) => pendingSkillDiff(staged, context.app)))
    case "approve":
      return reply(
        await forEach(words[0], context, async (staged) => {
          const approved = await approveSkillChange(staged, context.app)
          return approved.ok ? `Done: ${approved.value}.` : `Failed: ${approved.error}.`
        }),
      )
    case "reject":
    case "discard":
      return reply(
        await forEach(words[0], context, ({ id, summary }) => {
          const isDiscarded = discardSkillChange(context.app, id)
          return Promise.resolve(`${isDiscarded ? "Discarded" : "Could not discard"}: ${summary}.`)
        }),
      )
    case "install":
    case "inspect":
    case "audit":
    case "browse":
      return reply(`Use the command line for this: hermes skills ${action} --help`)
    case "approval": {
      const { writeApproval } = await import("./write-approval.ts")
      return reply(await writeApproval("skills", words[0], context))
    }
    default:
      return reply(USAGE)
  }
}

const MAX_DESCRIPTION_CHARS = 70

async function listText(query: string, { session, app }: SlashContext): Promise<string> {
  const commands = (await session.skills?.list()) ?? []
  const words = query.toLowerCase().split(/\s+/u)
  const found = commands.filter(({ slug, name, description }) => {
    const text = `${slug} ${name} ${description}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  const width = Math.max(0, ...found.map(({ slug }) => slug.length))
  const lines = found.map(({ slug, description }) => {
    return `/${slug.padEnd(width)}  ${ellipsize(description, MAX_DESCRIPTION_CHARS)}`
  })
  const pending = listPendingSkillChanges(app)
  return [
    ...(lines.length === 0 ? [query.trim() === "" ? "No skills are installed." : "No skill matches."] : lines),
    ...pendingLines(pending),
  ].join("\n")
}

function pendingLines(pending: readonly PendingSkillChange[]): readonly string[] {
  if (pending.length === 0) return []
  return [
    "Pending changes:",
    ...pending.map(({ id, summary }) => `  ${id}  ${summary}`),
    "Look at one with /skills diff ID; decide with /skills approve ID or all, /skills reject ID or all.",
  ]
}

/** Applies an operation to the change with this id, or to all. */
async function forEach(
  id: string | undefined,
  { app }: SlashContext,
  operate: (staged: PendingSkillChange) => Promise<string>,
): Promise<string> {
  if (id === undefined) return USAGE
  const pending = listPendingSkillChanges(app)
  if (pending.length === 0) return NOTHING_PENDING
  const selected = id.toLowerCase() === "all" ? pending : pending.filter((staged) => staged.id === id)
  if (selected.length === 0) return `There is no pending change ${ellipsize(id, 40)}. /skills pending lists them.`
  const lines: string[] = []
  for (const staged of selected) lines.push(await operate(staged))
  return lines.join("\n")
}
