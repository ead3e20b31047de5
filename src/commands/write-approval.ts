import { findLostProtection } from "../admin/settings/lost-protection.ts"
import { saveSetting } from "./save-setting.ts"
import type { SlashContext } from "./slash-command.ts"

/** `/memory approval` and `/skills approval`: shows or changes whether the user decides about changes of the agent. */
export async function writeApproval(
  subject: "memory" | "skills",
  word: string | undefined,
  context: Pick<SlashContext, "app" | "confirm">,
): Promise<string> {
  const key = `${subject}.write_approval` as const
  if (word === undefined)
    return `${key} is ${context.app.config.get(key) ? "on" : "off"}. /${subject} approval on or off changes it.`
  if (word !== "on" && word !== "off") return `Usage: /${subject} approval on, or /${subject} approval off.`
  const value = String(word === "on")
  const lost = await findLostProtection(context.app, key, value)
  if (lost !== undefined && (await context.confirm?.(`${lost} Change ${key} anyway?`)) !== true)
    return `Nothing was changed. \`hermes config set ${key} ${value}\` changes it as well.`
  const problem = await saveSetting(key, value, context)
  return problem ?? `${key} is now ${word}. It applies from the next start on.`
}
