import { listSkills, type ListedSkill } from "../../../admin/skills/skill-settings.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes skills list` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const source = flags.text("source") ?? "all"
  const listed = (await listSkills(homeContext(invocation), process.cwd())).filter(
    ({ origin, state }) =>
      (source === "all" || origin === source) && (!flags.has("enabled-only") || state === "offered"),
  )
  if (flags.has("json")) printJson(terminal, listed.map(skillFields))
  else printSkills(listed, invocation)
  return 0
}

export function skillFields({ skill, origin, state, refusal }: ListedSkill): object {
  const { name, description, category, directory, problem } = skill
  return {
    name,
    description,
    category,
    source: origin,
    state,
    path: directory,
    problem: problem ?? null,
    refusal: refusal ?? null,
  }
}

export function printSkills(listed: readonly ListedSkill[], invocation: Invocation): void {
  const { terminal } = invocation
  if (listed.length === 0) {
    terminal.line("No skills were found.")
    return
  }
  const rows = listed.map(({ skill, origin, state, refusal }) => [
    skill.name,
    origin,
    state === "offered" ? "" : state,
    oneLine(refusal ?? (skill.problem === undefined ? skill.description : `damaged: ${skill.problem}`)),
  ])
  printTable([{}, {}, {}, { flexible: true }], rows, invocation)
}
