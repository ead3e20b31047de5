import { asSentence } from "../base/sentence.ts"
import { LAYER_NAMES } from "../policy/decide.ts"
import { unknownProfileText } from "../policy/permission-profile.ts"
import { parsePattern } from "../policy/rules/parse-pattern.ts"
import { shownPattern } from "../policy/rules/permission-rules.ts"
import type { RuleDecision } from "../policy/rules/permission-rules.ts"
import type { Session } from "../app/session/session.ts"
import { NOTHING_CHOSEN, reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/permissions`: shows the profile and the rules of this session, or changes them until it ends. */
export const permissionsCommand: SlashCommand = {
  name: "permissions",
  category: "permissions",
  help: "show or change what Hermes may do in this session",
  argument: "[PROFILE | allow PATTERN | ask PATTERN | deny PATTERN | reset]",
  completes: "permission-profile",
  run: async (argument, context) => {
    const { pick, session } = context
    if (argument.trim() !== "" || pick === undefined) return reply(showOrChange(argument.trim(), context))
    const { permissionList } = await import("./lists/permission-list.ts")
    const { profiles } = session.permissions
    const picked = await pick(permissionList({ profiles, current: session.facts.permissionProfile }))
    return picked === undefined ? NOTHING_CHOSEN : reply(showOrChange(picked.value, context))
  },
}

/** `/yolo`: switches between full-auto and the profile before it. */
export const yoloCommand: SlashCommand = {
  name: "yolo",
  category: "permissions",
  needsWholeName: true,
  help: "run everything in this session without asking, or stop doing so",
  argument: "[on | off]",
  run: (argument, { session }): Promise<SlashOutcome> => {
    const isFullAuto = session.facts.permissionProfile === "full-auto"
    const wanted = { "": !isFullAuto, on: true, off: false }[argument.trim()]
    if (wanted === undefined)
      return Promise.resolve(reply(`Usage: /yolo [on | off]. Permission profile: ${session.facts.permissionProfile}.`))
    if (wanted !== isFullAuto) session.setPermissionProfile(wanted ? "full-auto" : session.permissions.askingProfile)
    return Promise.resolve(reply(`Permission profile: ${session.facts.permissionProfile}.`))
  },
}

function showOrChange(argument: string, { session }: SlashContext): string {
  if (argument === "") return overview(session)
  const [word = "", rest = ""] = /^(\S+)\s*([^]*)$/u.exec(argument)?.slice(1) ?? []
  if (word === "reset" && rest === "") {
    session.permissions.reset()
    return `The rules and grants of this session are gone. Permission profile: ${session.facts.permissionProfile}.`
  }
  const decision = DECISIONS.find((name) => name === word)
  if (decision !== undefined) return addRule(decision, rest, session)
  const { profiles } = session.permissions
  if (!profiles.includes(argument)) return unknownProfileText(argument, profiles)
  session.setPermissionProfile(argument)
  return `Permission profile: ${session.facts.permissionProfile}. It applies from the next call on, until this session ends.`
}

const DECISIONS: readonly RuleDecision[] = ["allow", "ask", "deny"]

function addRule(decision: RuleDecision, written: string, session: Session): string {
  if (written === "") return `Usage: /permissions ${decision} PATTERN, for example terminal:git push*`
  const pattern = parsePattern(written)
  if (!pattern.ok) return asSentence(pattern.error)
  session.permissions.addRule(decision, pattern.value)
  return `${decision} ${pattern.value.text}, until this session ends.`
}

function overview({ permissions, facts }: Session): string {
  const { layers } = permissions.rules()
  const rules = layers.flatMap(({ name, rules: ofLayer }) =>
    ofLayer.map(({ decision, pattern }) => `  ${decision.padEnd(5)}  ${shownPattern(pattern)}  (${LAYER_NAMES[name]})`),
  )
  const { grants } = permissions
  return [
    `Permission profile: ${facts.permissionProfile} (there are ${permissions.profiles.join(", ")})`,
    ...(rules.length === 0 ? ["There are no rules."] : rules),
    ...(grants === 0 ? [] : [`Allowed for this session: ${grants} exact ${grants === 1 ? "call" : "calls"}.`]),
  ].join("\n")
}
