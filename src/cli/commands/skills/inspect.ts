import { existsSync } from "node:fs"

import { scanForInstall } from "../../../admin/skills/install-skill.ts"
import { listSkills } from "../../../admin/skills/skill-settings.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { plainText } from "../../../terminal/printable-text.ts"
import { printScan } from "./print-scan.ts"

/** `hermes skills inspect`: a skill of this machine by name, or one that could be installed. Changes nothing. */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, terminal, signal } = invocation
  const [typed = ""] = positionals
  const context = { ...homeContext(invocation), signal }
  const known = existsSync(typed)
    ? undefined
    : (await listSkills(context, process.cwd())).find(({ skill }) => skill.name === typed)
  const scanned = valueOrCliError(await scanForInstall(known?.skill.directory ?? typed, { force: false }, context))
  try {
    printScan(scanned, terminal)
    terminal.line("")
    terminal.line(plainText(scanned.text.trim()))
    return 0
  } finally {
    scanned.discard()
  }
}
