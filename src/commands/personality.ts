import { findPersonality, listPersonalities } from "../app/services/personalities.ts"
import { nearest } from "../base/nearest-name.ts"
import { NOTHING_CHOSEN, reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/personality`: how the model speaks in this session. */
export const personalityCommand: SlashCommand = {
  name: "personality",
  category: "model",
  help: "show or choose how the model speaks in this session",
  argument: "[NAME | none]",
  completes: "personality",
  details: "display.personality is the one of new sessions, personalities adds your own.",
  run: showOrChoose,
}

async function showOrChoose(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { app, session, pick } = context
  const name = argument.trim().toLowerCase()
  if (name !== "") return await choose(name, context)
  const personalities = listPersonalities(app.config)
  const current = session.facts.personality
  if (pick !== undefined) {
    const { personalityList } = await import("./lists/personality-list.ts")
    const picked = await pick(personalityList({ personalities, current }))
    return picked === undefined || picked.value === (current ?? "none")
      ? NOTHING_CHOSEN
      : await choose(picked.value, context)
  }
  const width = Math.max(...personalities.map((each) => each.name.length))
  return reply(
    [
      `Personality: ${current ?? "none"}`,
      ...personalities.map((each) => `  ${each.name.padEnd(width)}  ${each.description}`),
      "/personality NAME chooses one, /personality none removes it.",
    ].join("\n"),
  )
}

/** Before the first message, a new session gets it with its prompt; later the model gets it with the next message. */
async function choose(name: string, { app, session, open, running }: SlashContext): Promise<SlashOutcome> {
  const isNone = name === "none" || name === "default"
  const personality = findPersonality(name, app.config)
  if (personality === undefined && !isNone) {
    const names = listPersonalities(app.config).map((each) => each.name)
    const closest = nearest(name, names)
    return reply(
      `There is no personality ${name}.${closest === undefined ? "" : ` Did you mean ${closest}?`} /personality lists them.`,
    )
  }
  const chosen = personality?.name ?? "none"
  if (!session.isStored && !running) {
    const next = await open(undefined, { personality: chosen })
    const title = await session.title()
    if (title !== null) await next.setTitle(title)
    return { kind: "switch", session: next, text: `Personality: ${chosen}.` }
  }
  session.setPersonality(personality)
  return reply(`Personality: ${chosen}, from your next message on.`)
}
