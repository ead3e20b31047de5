import { auditSkills } from "../../../admin/skills/installed-skills.ts"
import type { Invocation } from "../../command.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes skills audit`: scans again. Returns 1 when a skill is dangerous or differs from what was installed. */
export function run({ flags, terminal, home }: Invocation): Promise<number> {
  const audited = auditSkills({ home }, { all: flags.has("deep") })
  if (audited.length === 0) terminal.line("No skill was installed. --deep scans all skills of the home.")
  for (const { name, verdict, findings, isChanged } of audited) {
    terminal.line(`${name}: ${verdict}${isChanged ? ", changed after it was installed" : ""}`)
    for (const finding of findings) terminal.line(`  ${oneLine(finding)}`)
  }
  return Promise.resolve(audited.some(({ verdict, isChanged }) => verdict === "dangerous" || isChanged) ? 1 : 0)
}
