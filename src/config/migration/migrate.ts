import { readFileSync } from "node:fs"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { systemClock, type Clock } from "../../base/clock.ts"
import { unusedPath } from "../../base/kept-copies.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { fileTimestamp, readConfigFile } from "../config-file.ts"
import { dotted, hasPath, withoutPath, withValueAt, type Tree } from "../document/document-tree.ts"
import { removeSecret } from "../dotenv.ts"
import { rewriteConfig, type ConfigEdit } from "../edit-config.ts"
import type { Refusal } from "../managed-home.ts"
import { disableShellServers, MIGRATION_STEPS, type MigrationContext, type StepOutcome } from "./migration-steps.ts"
import { CONFIG_VERSION } from "../settings.ts"
import { configVersionOf } from "../validate.ts"

export interface Migration {
  readonly from: number
  readonly to: number
  /** Dotted paths that were written or removed, and variables removed from `.env`. */
  readonly changed: readonly string[]
  readonly warnings: readonly string[]
  readonly backup?: string
}

/**
 * Migrates `config.yaml` to this release's layout after making a backup. The environment must include `.env`. A file that is
 * absent, current or newer stays unchanged; one that does not parse is refused.
 */
export async function migrateConfig(
  context: MigrationContext & { readonly clock?: Clock },
): Promise<Result<Migration, Refusal>> {
  const { home } = context
  const file = await readConfigFile(home, context.clock ?? systemClock)
  if (file.kind === "absent") return ok({ from: CONFIG_VERSION, to: CONFIG_VERSION, changed: [], warnings: [] })
  if (file.kind === "broken") {
    const { line, column, message } = file.failure
    return fail({
      kind: "failed",
      message: `config.yaml does not parse (line ${line}, column ${column}: ${message}); repair it first`,
    })
  }
  const from = configVersionOf(file.tree)
  if (from > CONFIG_VERSION) {
    const warning = `config.yaml has version ${from}, which is newer than this release; it was not changed`
    return ok({ from, to: from, changed: [], warnings: [warning] })
  }
  const plan = planMigration(file.tree, from, context)
  if (plan.edits.length === 0 && plan.variables.length === 0)
    return ok({ from, to: from, changed: [], warnings: plan.warnings })
  return await applyMigration(plan, from, context)
}

/**
 * Whether a file has settings that this release writes differently. A file without a version was written by hand: it is outdated
 * only if a migration would change what it contains, not if it would merely add defaults.
 */
export function isOutdated(tree: Tree, context: MigrationContext): boolean {
  const version = configVersionOf(tree)
  if (version > 0) return version < CONFIG_VERSION
  return planMigration(tree, version, context).edits.some(({ path }) => hasPath(tree, path))
}

interface Plan {
  readonly edits: readonly ConfigEdit[]
  readonly variables: readonly string[]
  readonly warnings: readonly string[]
}

/** Each step sees the changes of the steps before it. */
function planMigration(start: Tree, from: number, context: MigrationContext): Plan {
  let tree = start
  const edits: ConfigEdit[] = []
  const variables: string[] = []
  const warnings: string[] = []
  const apply = (outcome: StepOutcome) => {
    for (const edit of outcome.edits ?? []) {
      tree = "remove" in edit ? withoutPath(tree, edit.path) : withValueAt(tree, edit.path, edit.value)
      edits.push(edit)
    }
    variables.push(...(outcome.variables ?? []))
    warnings.push(...(outcome.warnings ?? []))
  }
  for (const step of MIGRATION_STEPS) if (step.to > from) apply(step.run(tree, context))
  apply(disableShellServers(tree))
  if (from < CONFIG_VERSION) apply({ edits: [{ path: "_config_version", value: CONFIG_VERSION }] })
  return { edits, variables, warnings }
}

async function applyMigration(
  plan: Plan,
  from: number,
  context: MigrationContext & { readonly clock?: Clock },
): Promise<Result<Migration, Refusal>> {
  const { home, environment } = context
  const { setInDocument, removeFromDocument } = await import("../document/yaml-edit.ts")
  const path = home.file("config.yaml")
  const backup = unusedPath(`${path}.bak.${fileTimestamp((context.clock ?? systemClock).now())}`)
  const written = await rewriteConfig(context, ({ document }) => {
    try {
      writeFileAtomic(backup, readFileSync(path))
    } catch (cause) {
      return fail({
        kind: "failed",
        message: `cannot back up config.yaml: ${explainSystemError(cause)}; nothing was changed`,
      })
    }
    for (const edit of plan.edits) {
      if ("remove" in edit) {
        removeFromDocument(document, edit.path)
        continue
      }
      const done = setInDocument(document, edit.path, edit.value)
      if (!done.ok) return fail({ kind: "failed", message: `cannot migrate \`${dotted(edit.path)}\`: ${done.error}` })
    }
    return ok(undefined)
  })
  if (!written.ok) return written
  const removed: string[] = []
  for (const name of plan.variables) {
    const gone = await removeSecret({ home, environment, name })
    if (!gone.ok) return gone
    if (gone.value) removed.push(name)
  }
  const changed = [...plan.edits.map((edit) => dotted(edit.path)), ...removed]
  return ok({ from, to: CONFIG_VERSION, changed, warnings: plan.warnings, backup })
}
