import { existsSync } from "node:fs"

import { chooseModelFor } from "../../app/services/model-sources.ts"
import { ok, type Result } from "../../base/result.ts"
import { storeSecret } from "../../config/dotenv.ts"
import { valueAt } from "../../config/document/document-tree.ts"
import { checkText, setFromText, unsetPath, type Edited } from "../../config/edit-config.ts"
import { ensureHome } from "../../config/home.ts"
import { migrateConfig, type Migration } from "../../config/migration/migrate.ts"
import { secretVariable } from "../../config/secrets.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { checkModelValue } from "./check-model-value.ts"
import { checkPermissionValue } from "./check-permission-value.ts"
import { loadSettings } from "./load-settings.ts"
import { separateSettingSecrets, type SeparatedSetting } from "./separate-secrets.ts"

/** A change of the settings. */
export interface ChangedSetting extends Edited {
  /** The variables in `.env` with the secrets of the value, to which `config.yaml` refers. */
  readonly secretVariables: readonly string[]
}

/**
 * Sets a setting or a secret to a value typed as text. Creates the home when it does not exist. Secrets in the value are stored in
 * `.env`, and `config.yaml` refers to them, which the Python edition understands.
 */
export async function setSetting(
  context: HomeContext,
  path: string,
  text: string,
): Promise<Result<ChangedSetting, AdminFailure>> {
  const { home } = context
  ensureHome(home, context.environment)
  const { config, environment } = await loadSettings(context)
  const usable = checkModelValue(path, text, config)
  if (!usable.ok) return usable
  const permitted = checkPermissionValue(path, text, config)
  if (!permitted.ok) return permitted
  // A variable such as OPENAI_API_KEY is stored in `.env` anyway.
  const isVariable = !path.includes(".") && secretVariable(path) !== undefined
  const separated = isVariable ? { text, secrets: {} } : separateSettingSecrets(path, text, config)
  const accepted = isVariable ? ok(undefined) : checkText(path, separated.text, config.user())
  if (!accepted.ok) return accepted
  const stored = await storeSecrets({ ...context, environment }, separated)
  if (!stored.ok) return stored
  const edited = await setFromText({ home, environment }, path, separated.text)
  if (!edited.ok) return edited
  const changesModel = edited.value.paths.some((changed) => changed.startsWith("model."))
  return ok({
    ...edited.value,
    secretVariables: stored.value.variables,
    warnings: [
      ...stored.value.warnings,
      ...edited.value.warnings,
      ...(changesModel ? await missingForModel(context) : []),
    ],
  })
}

/** Stores the secrets of a value in `.env`, after the rest was checked. Returns their variables and warnings. */
async function storeSecrets(
  { home, environment }: HomeContext,
  separated: SeparatedSetting,
): Promise<Result<{ readonly variables: readonly string[]; readonly warnings: readonly string[] }, AdminFailure>> {
  const warnings: string[] = []
  for (const [name, value] of Object.entries(separated.secrets)) {
    const stored = await storeSecret({ home, environment, name, value })
    if (!stored.ok) return stored
    warnings.push(...stored.value)
  }
  return ok({ variables: Object.keys(separated.secrets), warnings })
}

/** What the chosen model still needs before it can answer. */
async function missingForModel(context: HomeContext): Promise<readonly string[]> {
  const chosen = chooseModelFor(await loadHome(context), {})
  return chosen.ok ? [] : [chosen.error.message]
}

/** Removes a setting from `config.yaml`, or a secret from `.env`. */
export async function unsetSetting(context: HomeContext, path: string): Promise<Result<Edited, AdminFailure>> {
  const { home } = context
  if (!existsSync(home.path)) return failed(`\`${path}\` is not set: ${home.display(home.path)} does not exist yet`)
  const { config, environment } = await loadSettings(context)
  const value = valueAt(config.user(), path)
  const removed = await unsetPath({ home, environment }, path)
  const [, variable] = typeof value === "string" ? (/^\$\{([A-Z][A-Z0-9_]*)\}$/u.exec(value) ?? []) : []
  if (!removed.ok || variable === undefined || environment.get(variable) === undefined) return removed
  const kept = `${variable} still has the value; \`hermes config unset ${variable}\` removes it from .env`
  return ok({ ...removed.value, warnings: [...removed.value.warnings, kept] })
}

/** Converts `config.yaml` to the version of this release and keeps a copy of the old file. */
export async function migrateSettings(context: HomeContext): Promise<Result<Migration, AdminFailure>> {
  const { home } = context
  const { environment } = await loadSettings(context)
  return await migrateConfig({ home, environment })
}
