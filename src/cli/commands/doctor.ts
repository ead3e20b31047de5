import { errorMessage } from "../../base/system-error.ts"
import type { Invocation } from "../command.ts"
import { acknowledge, type Advisory } from "../doctor/advisories.ts"
import { examine, type SectionReport } from "../doctor/examination.ts"
import type { DoctorContext, Finding } from "../doctor/finding.ts"
import { printJson } from "../json-output.ts"
import { asSentence } from "../sentence.ts"
import { loadSettings } from "../settings-access.ts"
import { bold } from "../text-layout.ts"

/** Known weaknesses of this release and the ones before it. */
const ADVISORIES: readonly Advisory[] = []

const MARKS: Readonly<Record<Finding["level"], string>> = { ok: "✓", info: "→", warning: "⚠", failure: "✗" }

/** `hermes doctor`: exit 1 while a failure remains. */
export async function run({ flags, terminal, home, environment, signal }: Invocation): Promise<number> {
  const freshContext = async (): Promise<DoctorContext> => ({
    home,
    settings: await loadSettings({ home, environment }),
    terminal,
    signal,
  })
  const acknowledged = flags.text("ack")
  if (acknowledged !== undefined) {
    await acknowledge(acknowledged, { ...(await freshContext()), advisories: ADVISORIES })
    terminal.line(`${acknowledged} is not shown again.`)
    return 0
  }
  let reports = await examine(await freshContext(), ADVISORIES)
  const say = (line: string): void => (flags.has("json") ? terminal.errLine(line) : terminal.line(line))
  if (flags.has("fix") && (await repairAll(reports, say))) reports = await examine(await freshContext(), ADVISORIES)
  const failures = findingsOf(reports).filter((finding) => finding.level === "failure").length
  if (flags.has("json")) printJson(terminal, reportJson(reports))
  else printReport(reports, terminal)
  return failures > 0 ? 1 : 0
}

/** Each repair is announced; one that fails leaves the others their chance. Gives whether anything was tried. */
async function repairAll(reports: readonly SectionReport[], say: (line: string) => void): Promise<boolean> {
  const repairs = findingsOf(reports).flatMap((finding) => finding.repair ?? [])
  for (const repair of repairs) {
    say(repair.announcement)
    try {
      await repair.run()
    } catch (error) {
      say(asSentence(`that did not work: ${errorMessage(error)}`))
    }
  }
  if (repairs.length > 0) say("")
  return repairs.length > 0
}

function printReport(reports: readonly SectionReport[], terminal: Invocation["terminal"]): void {
  for (const { title, findings } of reports) {
    terminal.line(bold(title, terminal.color))
    for (const finding of findings) terminal.line(`  ${MARKS[finding.level]} ${finding.text}`)
  }
  const open = findingsOf(reports).filter((finding) => finding.level === "failure" || finding.level === "warning")
  const fixable = open.filter((finding) => finding.fix !== undefined)
  terminal.line()
  if (fixable.length > 0) {
    terminal.line(bold("What to do", terminal.color))
    for (const [index, finding] of fixable.entries())
      terminal.line(`  ${index + 1}. ${finding.text}: ${finding.fix ?? ""}`)
    if (open.some((finding) => finding.repair !== undefined))
      terminal.line("`hermes doctor --fix` mends what can be mended safely.")
    return
  }
  terminal.line(open.length === 0 ? "Everything is in order." : `${open.length} things to look at.`)
}

function findingsOf(reports: readonly SectionReport[]): readonly Finding[] {
  return reports.flatMap((report) => report.findings)
}

function reportJson(reports: readonly SectionReport[]): object {
  const findings = findingsOf(reports)
  return {
    failures: findings.filter((finding) => finding.level === "failure").length,
    warnings: findings.filter((finding) => finding.level === "warning").length,
    sections: reports.map(({ title, findings: lines }) => ({
      title,
      findings: lines.map(({ level, text, fix, repair }) => ({
        level,
        text,
        fix: fix ?? null,
        fixable: repair !== undefined,
      })),
    })),
  }
}
