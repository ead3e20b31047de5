import { listSkills } from "../../../admin/skills/skill-settings.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printSkills, skillFields } from "./list.ts"

const DEFAULT_LIMIT = 10

/** `hermes skills search`: all words in name, category or description. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const words = positionals.join(" ").toLowerCase().split(/\s+/u)
  const found = (await listSkills(homeContext(invocation), process.cwd()))
    .filter(({ skill: { name, category, description } }) => {
      const text = `${name} ${category} ${description}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    .slice(0, flags.number("limit") ?? DEFAULT_LIMIT)
  if (flags.has("json")) printJson(terminal, found.map(skillFields))
  else printSkills(found, invocation)
  return 0
}
