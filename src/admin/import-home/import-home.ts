import { assertNever } from "../../base/assert-never.ts"
import { createRedactor } from "../../base/redact.ts"
import { ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { StoreError } from "../../state/store.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome, type LoadedHome } from "../loaded-home.ts"
import { openForeignHome, type ForeignAgent, type ForeignHome } from "./foreign-home.ts"
import { importCommands } from "./import-commands.ts"
import { importNotes } from "./import-notes.ts"
import type { CategoryReport, ImportCategory, ImportReport } from "./import-report.ts"
import { findSecrets, storeSecretsOf } from "./import-secrets.ts"
import { importForeignServers } from "./import-servers.ts"
import { importSessions } from "./import-sessions.ts"
import { proposeSettings } from "./import-settings.ts"
import { importSkills } from "./import-skills.ts"

export interface ImportOptions {
  readonly agent: ForeignAgent
  /** The home of the other agent; undefined for its usual directory. */
  readonly from: string | undefined
  readonly categories: readonly ImportCategory[]
  /** Finds out what would be done and writes nothing. */
  readonly dryRun: boolean
  /** Copies keys that Hermes uses to `.env`. */
  readonly includeSecrets: boolean
  readonly signal: AbortSignal
}

/** Imports the home of another agent. Writes only in the home of Hermes; what was imported before stays as it is. */
export async function importHome(
  context: HomeContext,
  options: ImportOptions,
): Promise<Result<ImportReport, AdminFailure>> {
  const { agent, from, categories, dryRun, includeSecrets, signal } = options
  const opened = await openForeignHome(agent, { from, home: context.home })
  if (!opened.ok) return opened
  const foreign = opened.value
  const loaded = await loadHome(context)
  const redactor = createRedactor({ enabled: true, secrets: [] })
  const redact = (text: string): string => redactor.redact(text)
  // Source code is a large part of every transcript.
  const redactTranscript = (text: string): string => redactor.redact(text, { codeFile: true })
  const work: Work = { context, loaded, foreign, dryRun, includeSecrets, signal, redact, redactTranscript }
  const reports: CategoryReport[] = []
  const secrets: string[] = []
  try {
    for (const category of categories) {
      signal.throwIfAborted()
      const imported = await importCategory(category, work)
      reports.push(imported.report)
      secrets.push(...(imported.secrets ?? []))
    }
  } catch (error) {
    if (error instanceof StoreError) return failed(`The conversations were not all imported: ${error.message}`)
    if (!signal.aborted) throw error
    return failed("The import was interrupted. What was imported so far stays; run it again to import the rest.")
  }
  const secretsCopied = includeSecrets && !dryRun
  const found = { categories: reports, problems: problemsOf(foreign), secrets, secretsCopied }
  return ok({ agent, from: foreign.files.root, dryRun, ...found })
}

interface Work extends Pick<ImportOptions, "dryRun" | "includeSecrets" | "signal"> {
  readonly context: HomeContext
  readonly loaded: LoadedHome
  readonly foreign: ForeignHome
  readonly redact: (text: string) => string
  readonly redactTranscript: (text: string) => string
}

interface ImportedCategory {
  readonly report: CategoryReport
  /** Variables for secrets that were found. */
  readonly secrets?: readonly string[]
}

/** One category that fails does not keep the others from being imported. */
async function importCategory(category: ImportCategory, work: Work): Promise<ImportedCategory> {
  try {
    return await importKnown(category, work)
  } catch (error) {
    if (error instanceof StoreError || work.signal.aborted) throw error
    return { report: notImported(category, explainSystemError(error)) }
  }
}

function notImported(category: ImportCategory, reason: string): CategoryReport {
  return { category, items: [], notes: [`Not imported: ${reason}`] }
}

async function importKnown(category: ImportCategory, work: Work): Promise<ImportedCategory> {
  const { context, loaded, foreign, dryRun, signal, redact } = work
  switch (category) {
    case "sessions":
      return { report: await importSessions({ ...context, foreign, dryRun, signal, redact: work.redactTranscript }) }
    case "memories":
    case "rules":
      return { report: await importNotes(category, { foreign, loaded, dryRun, redact }) }
    case "skills":
      return {
        report: await importSkills({ ...context, environment: loaded.environment, foreign, dryRun, signal }),
      }
    case "commands":
      return { report: importCommands({ home: context.home, foreign, dryRun, redact }) }
    case "mcp": {
      const servers = await importForeignServers({ foreign, loaded, dryRun, includeSecrets: work.includeSecrets })
      return servers.ok ? servers.value : { report: notImported(category, servers.error.message) }
    }
    case "settings":
      return await importSettings(work)
    default:
      return assertNever(category)
  }
}

async function importSettings({ loaded, foreign, dryRun, includeSecrets }: Work): Promise<ImportedCategory> {
  const found = findSecrets(foreign, loaded)
  const proposed = proposeSettings({ foreign, loaded })
  const stored = includeSecrets && !dryRun ? await storeSecretsOf(loaded, found) : ok(undefined)
  const failure = stored.ok ? [] : [`The keys were not copied: ${stored.error.message}`]
  return {
    report: { ...proposed, notes: [...proposed.notes, ...found.notes, ...failure] },
    secrets: [...found.usable.keys()],
  }
}

function problemsOf({ files, beside }: ForeignHome): readonly string[] {
  const sentences = [...files.problems, ...(beside?.problems ?? [])].map(({ path, reason }) => `${path}: ${reason}`)
  return [...new Set(sentences)]
}
