import type { ScannedSkill } from "../../../admin/skills/install-skill.ts"
import { counted } from "../../../base/counted.ts"
import type { Terminal } from "../../../terminal/terminal.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** Shows what a skill is and what the scan found, before anything is installed. */
export function printScan(scanned: ScannedSkill, terminal: Terminal): void {
  terminal.line(`${scanned.name}: ${oneLine(scanned.description)}`)
  terminal.line(
    `from ${oneLine(scanned.identifier)} (${scanned.trust}), ${counted(scanned.files.length, "file")}, hash ${scanned.hash}`,
  )
  terminal.line(`scan: ${scanned.verdict}`)
  for (const finding of scanned.findings) terminal.line(`  ${oneLine(finding)}`)
}
