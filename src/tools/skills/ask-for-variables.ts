import type { ViewedSkill } from "../../knowledge/skills/view-skill.ts"
import type { SkillsPort } from "../../toolkit/ports/skills.ts"
import type { ToolContext } from "../../toolkit/tool.ts"

export interface AskedVariables {
  /** At least one value was stored. */
  readonly isStored: boolean
  /** The user left one out. */
  readonly isSkipped: boolean
  /** For the model. */
  readonly notes: readonly string[]
}

const NOTHING_ASKED: AskedVariables = { isStored: false, isSkipped: false, notes: [] }
/** More questions would look like an attack of the skill on the user. */
const MAX_QUESTIONS = 5

/** Asks the user for the missing variables of a skill and stores the answers. The model never sees them. */
export async function askForVariables(
  { name: skill, source, needs, readiness }: ViewedSkill,
  port: SkillsPort,
  { ports: { ask } }: ToolContext,
): Promise<AskedVariables> {
  // The authors of a project could ask for any secret of the user.
  const { secrets } = port
  if (ask === undefined || secrets === undefined || source === "project") return NOTHING_ASKED
  const missing = needs.variables.filter(
    ({ name }) => readiness.missingVariables.includes(name) && secrets.canStore(name),
  )
  let isStored = false
  const notes: string[] = []
  for (const { name, prompt, help, requiredFor } of missing.slice(0, MAX_QUESTIONS)) {
    const why = [prompt, requiredFor === "" ? "" : `for ${requiredFor}`, help].filter((text) => text !== "").join("; ")
    const answer = await ask.ask({
      kind: "secret",
      asker: "hermes",
      question: `The skill ${skill} needs ${name}${why === "" ? "" : ` (${why})`}. Its value is stored in the .env file of Hermes and passed to commands. Enter nothing to skip it.`,
      choices: [],
      allowFreetext: true,
    })
    if (answer.kind !== "answer") return { isStored, isSkipped: answer.kind !== "unattended", notes }
    if (answer.text.trim() === "") return { isStored, isSkipped: true, notes }
    const stored = await secrets.store(name, answer.text.trim())
    if (stored.ok) isStored = true
    else notes.push(`${name} was not stored: ${stored.error}`)
  }
  return { isStored, isSkipped: false, notes }
}
