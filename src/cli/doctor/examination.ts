import { errorMessage } from "../../base/system-error.ts"
import { advisoriesSection, type Advisory } from "./advisories.ts"
import { configurationSection } from "./configuration-checks.ts"
import { databaseSection } from "./database-checks.ts"
import type { DoctorContext, Finding, Section } from "./finding.ts"
import { directoriesSection, memorySection, secretsSection } from "./home-checks.ts"
import { profilesSection, programsSection, servicesSection, skillsSection, terminalSection } from "./machine-checks.ts"
import { localServersSection, providersSection } from "./provider-checks.ts"
import { runtimeSection } from "./runtime-checks.ts"

/** The whole report takes no longer than this, whatever hangs. */
const OVERALL_MS = 60_000

export interface SectionReport {
  readonly title: string
  readonly findings: readonly Finding[]
}

/** All sections at the same time, reported in a fixed order. */
export async function examine(
  context: DoctorContext,
  advisories: readonly Advisory[],
): Promise<readonly SectionReport[]> {
  const sections: readonly Section[] = [
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
    advisoriesSection(advisories),
  ]
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(OVERALL_MS)])
  return Promise.all(sections.map((section) => examineSection(section, { ...context, signal })))
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
