import { checkInstalled, scanForUpdate, type SkillCheck } from "../../../admin/skills/installed-skills.ts"
import { CliError, type Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { confirmed } from "../../terminal/confirmation.ts"
import { oneLine } from "../../../terminal/text-layout.ts"
import { printScan } from "./print-scan.ts"

/** `hermes skills update`: one skill, or all that have a newer version. Returns 1 when one could not be updated. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, signal } = invocation
  const [name] = positionals
  const context = { ...homeContext(invocation), signal }
  const checks = await checkInstalled(context)
  const selected = checks.filter(({ skill }) => name === undefined || skill.name === name)
  if (name !== undefined && selected.length === 0)
    throw new CliError(`There is no installed skill ${name}. \`hermes skills list\` shows the skills.`, { exitCode: 1 })
  let code = 0
  for (const check of selected) {
    const isReplaced = check.state === "outdated" || (check.state === "changed" && flags.has("force"))
    if (isReplaced) code = Math.max(code, await updateOne(check, invocation))
    else if (check.state !== "current") {
      terminal.errLine(
        `${check.skill.name}: ${oneLine(check.reason)}${check.state === "changed" ? "; --force replaces it" : ""}.`,
      )
      code = 1
    }
  }
  if (selected.every(({ state }) => state === "current")) terminal.line("Everything is up to date.")
  return code
}

async function updateOne({ skill }: SkillCheck, invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  const context = { ...homeContext(invocation), signal }
  const scanned = valueOrCliError(await scanForUpdate(skill, { force: flags.has("force") }, context))
  try {
    printScan(scanned, terminal)
    const isConfirmed =
      !scanned.isAllowed || (await confirmed(`Update ${skill.name}?`, { terminal, assumed: flags.has("yes") }))
    if (!isConfirmed) return 1
    valueOrCliError(scanned.install())
    terminal.line(`Updated ${skill.name}.`)
    return 0
  } finally {
    scanned.discard()
  }
}
