import type { SessionSummary } from "../state/store.ts"
import type { PickChoice } from "./choice-list.ts"
import { NOTHING_CHOSEN, reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/resume`: continues another session. */
export const resumeCommand: SlashCommand = {
  name: "resume",
  category: "conversation",
  help: "continue another session",
  argument: "[N | ID | TITLE]",
  completes: "session",
  details: "Without an argument, the recent sessions are listed; N is a number of that list.",
  idleOnly: true,
  run: resumeOther,
}

/** `/sessions`: lists the sessions, or continues one of them. */
export const sessionsCommand: SlashCommand = {
  name: "sessions",
  aliases: ["switch"],
  category: "conversation",
  help: "list recent sessions, or continue one",
  argument: "[all] [full] [ID or TITLE]",
  completes: "session",
  details: "all also lists children, sub-agents and archived sessions; full lists more of them.",
  run: listOrResume,
}

const LISTED = 10
const LISTED_FULL = 100

async function resumeOther(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { app, open } = context
  const name = withoutBrackets(argument)
  if (name === "" && context.pick !== undefined) return await pickSession(context.pick, context)
  const recent = await recentSessions(context, { limit: LISTED, all: false })
  if (name === "") return reply(numberedText(recent))
  const store = await app.store()
  const numbered = /^\d{1,2}$/u.test(name) ? recent[Number(name) - 1]?.id : undefined
  const found = (await store.resumeTarget(name)) ?? numbered
  if (found === undefined) {
    const { ambiguousSession } = await import("../app/services/ambiguous-session.ts")
    const none = `There is no session "${name}". /sessions lists the recent ones.`
    return reply((await ambiguousSession(store, name)) ?? none)
  }
  const session = await open(found)
  const ending = session.facts.endsInterrupted ? " The last reply was interrupted." : ""
  const text = `Continuing ${found} (${session.facts.messages} messages).${ending}`
  return { kind: "switch", session, text, isResumed: true }
}

/** A name that was copied from a text or a usage line. */
function withoutBrackets(argument: string): string {
  const text = argument.trim()
  return (
    /^(?:<(.*)>|\[(.*)\]|"(.*)"|'(.*)')$/su
      .exec(text)
      ?.slice(1)
      .find((inner) => inner !== undefined)
      ?.trim() ?? text
  )
}

async function pickSession(pick: PickChoice, context: SlashContext): Promise<SlashOutcome> {
  const { app, session } = context
  const { sessionList } = await import("./lists/session-list.ts")
  const picked = await pick(sessionList(app, { current: session.id }))
  if (picked === undefined || picked.value === session.id) return NOTHING_CHOSEN
  return context.running ? reply(BUSY) : await resumeOther(picked.value, context)
}

const BUSY = "Another session can be opened when the reply is complete. /stop interrupts it."

async function listOrResume(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const words = argument.split(/\s+/u).filter((word) => word !== "")
  if (words.length === 0 && context.pick !== undefined) return await pickSession(context.pick, context)
  const options = words.map((word) => word.toLowerCase()).filter((word) => word === "all" || word === "full")
  const target = words.filter((word) => !["all", "full"].includes(word.toLowerCase())).join(" ")
  if (target !== "") return context.running ? reply(BUSY) : await resumeOther(target, context)
  const limit = options.includes("full") ? LISTED_FULL : LISTED
  return reply(numberedText(await recentSessions(context, { limit, all: options.includes("all") })))
}

async function recentSessions(
  { app }: SlashContext,
  { limit, all }: { readonly limit: number; readonly all: boolean },
): Promise<readonly SessionSummary[]> {
  const store = await app.store()
  return await store.list({ limit, orderBy: "last-activity", excludeSources: ["tool"], ...(all ? { all: true } : {}) })
}

function numberedText(sessions: readonly SessionSummary[]): string {
  if (sessions.length === 0) return "There are no sessions yet."
  const width = String(sessions.length).length
  return [
    ...sessions.map(({ id, title, preview }, index) => {
      return `${String(index + 1).padStart(width)}. ${id}  ${title ?? preview}`
    }),
    "/resume N continues one of them.",
  ].join("\n")
}
