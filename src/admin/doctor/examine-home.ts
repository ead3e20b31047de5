import { errorMessage } from "../../base/system-error.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { ADVISORIES, advisoriesSection } from "./advisories.ts"
import { configurationSection } from "./configuration-checks.ts"
import { databaseSection } from "./database-checks.ts"
import type { DoctorContext, Finding, Section } from "./finding.ts"
import { directoriesSection, memorySection, secretsSection } from "./home-checks.ts"
import { profilesSection, programsSection, servicesSection, skillsSection, terminalSection } from "./machine-checks.ts"
import { localServersSection, providersSection } from "./provider-checks.ts"
import { runtimeSection } from "./runtime-checks.ts"

/** The report ends after this time, even when a check hangs. */
const TIMEOUT_MS = 60_000
/** Checking a database of several gigabytes completely takes minutes. */
const FULL_TIMEOUT_MS = 60 * 60_000

export interface SectionReport {
  readonly title: string
  readonly findings: readonly Finding[]
}

export type ExamineOptions = Pick<DoctorContext, "nodeProblem" | "terminal" | "full" | "signal">

const SECTIONS: readonly Section[] = [
  runtimeSection,
  configurationSection,
  secretsSection,
  directoriesSection,
  memorySection,
  databaseSection,
  providersSection,
  localServersSection,
  servicesSection,
  skillsSection,
  programsSection,
  terminalSection,
  profilesSection,
  advisoriesSection(ADVISORIES),
]

/** Runs all checks at the same time and reports them in a fixed order. Changes nothing. */
export async function examineHome(context: HomeContext, options: ExamineOptions): Promise<readonly SectionReport[]> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.full ? FULL_TIMEOUT_MS : TIMEOUT_MS)])
  const doctor = { ...(await loadHome(context)), ...options, signal }
  return await Promise.all(SECTIONS.map((section) => examineSection(section, doctor)))
}

export type RepairProgress =
  | { readonly kind: "repair-start"; readonly announcement: string }
  | { readonly kind: "repair-failed"; readonly reason: string }

/** Runs every repair that the report offers. A repair that fails does not prevent the next one. */
export async function* repairFindings(reports: readonly SectionReport[]): AsyncGenerator<RepairProgress, void> {
  for (const { repair } of reports.flatMap(({ findings }) => findings)) {
    if (repair === undefined) continue
    yield { kind: "repair-start", announcement: repair.announcement }
    try {
      const repaired = await repair.run()
      if (!repaired.ok) yield { kind: "repair-failed", reason: repaired.error }
    } catch (error) {
      yield { kind: "repair-failed", reason: errorMessage(error) }
    }
  }
}

async function examineSection(section: Section, context: DoctorContext): Promise<SectionReport> {
  const { title } = section
  const timedOut = Promise.withResolvers<readonly Finding[]>()
  const giveUp = (): void => timedOut.resolve([{ level: "failure", text: "the check did not finish in time" }])
  context.signal.addEventListener("abort", giveUp, { once: true })
  try {
    return { title, findings: await Promise.race([Promise.resolve(section.check(context)), timedOut.promise]) }
  } catch (error) {
    return { title, findings: [{ level: "failure", text: `the check failed: ${errorMessage(error)}` }] }
  } finally {
    context.signal.removeEventListener("abort", giveUp)
  }
}
