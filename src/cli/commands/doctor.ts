import { acknowledgeAdvisory } from "../../admin/doctor/advisories.ts"
import {
  examineHome,
  repairFindings,
  type RepairProgress,
  type SectionReport,
} from "../../admin/doctor/examine-home.ts"
import type { Finding } from "../../admin/doctor/finding.ts"
import { asSentence } from "../../base/sentence.ts"
import type { Invocation } from "../command.ts"
import { valueOrCliError } from "../command-result.ts"
import { homeContext } from "../home-context.ts"
import { printJson } from "../terminal/json-output.ts"
import { bold } from "../../terminal/text-layout.ts"
import { nodeVersionProblem } from "../version.ts"
import { counted } from "../../base/counted.ts"

const MARKS: Readonly<Record<Finding["level"], string>> = { ok: "✓", info: "→", warning: "⚠", failure: "✗" }

/** `hermes doctor`: exits with 1 while a failure remains. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  const context = homeContext(invocation)
  const id = flags.text("ack")
  if (id !== undefined) {
    valueOrCliError(await acknowledgeAdvisory(context, { id }))
    terminal.line(`${id} will not be shown again.`)
    return 0
  }
  const options = { nodeProblem: nodeVersionProblem(process.versions.node), terminal, full: flags.has("full"), signal }
  let reports = await examineHome(context, options)
  if (flags.has("fix") && (await repairAll(reports, invocation))) reports = await examineHome(context, options)
  const failures = findingsOf(reports).filter((finding) => finding.level === "failure").length
  if (flags.has("json")) printJson(terminal, reportJson(reports))
  else printReport(reports, terminal)
  return failures > 0 ? 1 : 0
}

/** Runs and announces every repair. Returns whether there was any. */
async function repairAll(reports: readonly SectionReport[], { flags, terminal }: Invocation): Promise<boolean> {
  const print = (line: string): void => (flags.has("json") ? terminal.errLine(line) : terminal.line(line))
  let repaired = false
  for await (const progress of repairFindings(reports)) {
    print(repairLine(progress))
    repaired = true
  }
  if (repaired) print("")
  return repaired
}

function repairLine(progress: RepairProgress): string {
  return progress.kind === "repair-start" ? progress.announcement : asSentence(`that did not work: ${progress.reason}`)
}

function printReport(reports: readonly SectionReport[], terminal: Invocation["terminal"]): void {
  for (const { title, findings } of reports) {
    terminal.styledLine(bold(title, terminal.color))
    for (const finding of findings) terminal.line(`  ${MARKS[finding.level]} ${finding.text}`)
  }
  const open = findingsOf(reports).filter((finding) => finding.level === "failure" || finding.level === "warning")
  const fixable = open.filter((finding) => finding.fix !== undefined)
  terminal.line()
  if (fixable.length > 0) {
    terminal.styledLine(bold("What to do", terminal.color))
    for (const [index, finding] of fixable.entries())
      terminal.line(`  ${index + 1}. ${finding.text}: ${finding.fix ?? ""}`)
    if (open.some((finding) => finding.repair !== undefined))
      terminal.line("`hermes doctor --fix` repairs what can be repaired safely.")
    return
  }
  terminal.line(open.length === 0 ? "Everything is in order." : `${counted(open.length, "finding")} to look at.`)
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
