import { listSkillOptions, setSkillOption, type SkillOption } from "../../../admin/skills/skill-options.ts"
import { oneLine } from "../../../terminal/text-layout.ts"
import { CliError, type Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"

/** `hermes skills config [SKILL [KEY VALUE]]` */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, flags, terminal } = invocation
  const [skill, key, value] = positionals
  const context = homeContext(invocation)
  if (skill !== undefined && key !== undefined) {
    if (value === undefined)
      throw new CliError(`The value is missing. Usage: hermes skills config ${skill} ${key} VALUE`, { exitCode: 2 })
    valueOrCliError(await setSkillOption(context, { skill, key, value }))
    terminal.line(`Set ${key} of ${skill} to ${oneLine(value)}.`)
    return 0
  }
  const options = valueOrCliError(await listSkillOptions(context, skill))
  if (flags.has("json")) printJson(terminal, options)
  else if (options.length === 0)
    terminal.line(skill === undefined ? "No skill has options." : `The skill ${skill} has no options.`)
  else printTable([{}, {}, {}, { flexible: true }], options.map(row), invocation)
  return 0
}

function row({ skill, key, value, description }: SkillOption): readonly string[] {
  return [skill, key, oneLine(value), oneLine(description)]
}
