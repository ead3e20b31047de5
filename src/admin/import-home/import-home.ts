import { createRedactor } from "../../base/redact.ts"
import { ok, type Result } from "../../base/result.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
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
  const reports: CategoryReport[] = []
  const secrets: string[] = []
  try {
    for (const category of categories) {
      signal.throwIfAborted()
      switch (category) {
        case "sessions":
          reports.push(await importSessions({ ...context, foreign, dryRun, signal, redact: redactTranscript }))
          break
        case "memories":
        case "rules":
          reports.push(await importNotes(category, { foreign, loaded, dryRun, redact }))
          break
        case "skills":
          reports.push(await importSkills({ ...context, environment: loaded.environment, foreign, dryRun, signal }))
          break
        case "commands":
          reports.push(importCommands({ home: context.home, foreign, dryRun, redact }))
          break
        case "mcp": {
          const servers = await importForeignServers({ foreign, loaded, dryRun, includeSecrets })
          if (!servers.ok) return servers
          reports.push(servers.value.report)
          secrets.push(...servers.value.secrets)
          break
        }
        case "settings": {
          const found = findSecrets(foreign, loaded)
          const proposed = proposeSettings({ foreign, loaded })
          reports.push({ ...proposed, notes: [...proposed.notes, ...found.notes] })
          secrets.push(...found.usable.keys())
          if (includeSecrets && !dryRun) {
            const stored = await storeSecretsOf(loaded, found)
            if (!stored.ok) return stored
          }
        }
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
    return failed("The import was interrupted. What was imported so far stays; run it again to import the rest.")
  }
  return ok({ agent, from: foreign.files.root, dryRun, categories: reports, problems: problemsOf(foreign), secrets })
}

function problemsOf({ files, beside }: ForeignHome): readonly string[] {
  const sentences = [...files.problems, ...(beside?.problems ?? [])].map(({ path, reason }) => `${path}: ${reason}`)
  return [...new Set(sentences)]
}
