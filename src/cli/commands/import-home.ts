import { resolve } from "node:path"

import { AGENT_TITLES, type ForeignAgent } from "../../admin/import-home/foreign-home.ts"
import { importHome, type ImportOptions } from "../../admin/import-home/import-home.ts"
import { IMPORT_CATEGORIES } from "../../admin/import-home/import-report.ts"
import type { CategoryReport, ImportCategory, ImportItem, ImportReport } from "../../admin/import-home/import-report.ts"
import { nearest } from "../../base/nearest-name.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import { CliError, type Invocation } from "../command.ts"
import { valueOrCliError } from "../command-result.ts"
import { homeContext } from "../home-context.ts"
import { confirmed } from "../terminal/confirmation.ts"
import { printJson } from "../terminal/json-output.ts"

/** `hermes import openclaw|claude-code|codex` */
export async function runHomeImport(agent: ForeignAgent, invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  const context = homeContext(invocation)
  const from = flags.text("from")
  const options: ImportOptions = {
    agent,
    from: from === undefined ? undefined : resolve(from),
    categories: categoriesOf(flags.text("only")),
    dryRun: true,
    includeSecrets: false,
    signal,
  }
  const print = (report: ImportReport): void =>
    flags.has("json") ? printJson(terminal, report) : printReport(report, invocation)
  const includesSecrets = flags.has("include-secrets")
  if (flags.has("dry-run")) {
    print(valueOrCliError(await importHome(context, options)))
    return 0
  }
  const assumed = flags.has("yes") || flags.has("force")
  let includeSecrets = includesSecrets
  if (!assumed || includesSecrets) {
    const plan = valueOrCliError(await importHome(context, options))
    if (!assumed) {
      if (!flags.has("json")) printReport(plan, invocation)
      if (!hasWork(plan) && !(includesSecrets && plan.secrets.length > 0)) return done("There is nothing to import.")
      if (!(await confirmed("Import this?", { terminal, assumed }))) return done("Nothing was changed.")
    }
    if (includesSecrets && plan.secrets.length > 0) {
      const question = `Copy these keys from ${AGENT_TITLES[agent]} to .env: ${plan.secrets.map(oneLine).join(", ")}?`
      includeSecrets = await confirmed(question, { terminal, assumed })
    }
  }
  print(valueOrCliError(await importHome(context, { ...options, dryRun: false, includeSecrets })))
  return 0

  function done(sentence: string): number {
    terminal.errLine(sentence)
    return 0
  }
}

function categoriesOf(only: string | undefined): readonly ImportCategory[] {
  if (only === undefined) return IMPORT_CATEGORIES
  const names = only.split(",").map((name) => name.trim())
  const unknown = names.find((name) => !IMPORT_CATEGORIES.some((category) => category === name))
  if (unknown !== undefined) {
    const close = nearest(unknown, IMPORT_CATEGORIES)
    const hint = close === undefined ? `use ${IMPORT_CATEGORIES.join(", ")}` : `did you mean ${close}?`
    throw new CliError(`--only: ${JSON.stringify(unknown)} cannot be imported; ${hint}`, { exitCode: 2 })
  }
  return IMPORT_CATEGORIES.filter((category) => names.includes(category))
}

function hasWork({ categories }: ImportReport): boolean {
  return categories.some(({ items }) => items.some(({ outcome }) => outcome === "imported" || outcome === "updated"))
}

const LISTED = 20

const OUTCOMES: readonly (readonly [ImportItem["outcome"], string, string])[] = [
  ["imported", "imported", "to import"],
  ["updated", "updated", "to update"],
  ["already-there", "already there", "already there"],
  ["proposed", "for you to decide", "for you to decide"],
  ["skipped", "skipped", "skipped"],
]

function printReport(report: ImportReport, { terminal, home }: Invocation): void {
  const { agent, from, dryRun, categories, problems, secrets, secretsCopied } = report
  terminal.line(`${AGENT_TITLES[agent]}, ${home.display(from)}`)
  for (const category of categories) printCategory(category, { dryRun, terminal })
  for (const problem of problems.slice(0, LISTED)) terminal.errLine(`Not read: ${oneLine(problem)}`)
  if (problems.length > LISTED) terminal.errLine(`Not read: ${problems.length - LISTED} more.`)
  const names = secrets.map(oneLine).join(", ")
  if (secrets.length > 0 && secretsCopied) terminal.line(`Copied to .env: ${names}.`)
  else if (secrets.length > 0)
    terminal.line(
      `Keys that ${AGENT_TITLES[agent]} has: ${names}. They are copied to .env only with --include-secrets.`,
    )
  if (dryRun) terminal.line("Nothing was written.")
}

function printCategory(
  { category, items, notes }: CategoryReport,
  { dryRun, terminal }: { readonly dryRun: boolean } & Pick<Invocation, "terminal">,
): void {
  const counts = OUTCOMES.flatMap(([outcome, past, future]) => {
    const count = items.filter((item) => item.outcome === outcome).length
    return count === 0 ? [] : [`${count} ${dryRun ? future : past}`]
  })
  terminal.line(`${category}: ${counts.length === 0 ? "nothing found" : counts.join(", ")}`)
  for (const [outcome, past, future] of OUTCOMES) {
    if (outcome === "already-there") continue
    const listed = items.filter((item) => item.outcome === outcome)
    for (const { name, detail } of listed.slice(0, LISTED)) {
      const [first = "", ...more] = (detail ?? "").split("\n")
      terminal.line(`  ${dryRun ? future : past}: ${oneLine(name)}${first === "" ? "" : ` (${oneLine(first)})`}`)
      for (const line of more) terminal.line(`    ${oneLine(line)}`)
    }
    if (listed.length > LISTED) terminal.line(`  and ${listed.length - LISTED} more ${past}; --json lists all`)
  }
  for (const note of notes) terminal.line(`  ${oneLine(note)}`)
}
