import { chooseModelFor } from "../../app/services/model-sources.ts"
import { ok, type Result } from "../../base/result.ts"
import { setFromText, unsetPath, type Edited } from "../../config/edit-config.ts"
import { ensureHome } from "../../config/home.ts"
import { migrateConfig, type Migration } from "../../config/migration/migrate.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { checkModelValue } from "./check-model-value.ts"
import { loadSettings } from "./load-settings.ts"

/** Sets a setting or a secret to a value typed as text. Creates the home when it does not exist. */
export async function setSetting(
  context: HomeContext,
  path: string,
  text: string,
): Promise<Result<Edited, AdminFailure>> {
  const { home } = context
  ensureHome(home, context.environment)
  const { config, environment } = await loadSettings(context)
  const usable = checkModelValue(path, text, config)
  if (!usable.ok) return usable
  const edited = await setFromText({ home, environment }, path, text)
  if (!edited.ok || !edited.value.paths.some((changed) => changed.startsWith("model."))) return edited
  return ok({ ...edited.value, warnings: [...edited.value.warnings, ...(await missingForModel(context))] })
}

/** What the chosen model still needs before it can answer. */
async function missingForModel(context: HomeContext): Promise<readonly string[]> {
  const chosen = chooseModelFor(await loadHome(context), {})
  return chosen.ok ? [] : [chosen.error.message]
}

/** Removes a setting from `config.yaml`, or a secret from `.env`. */
export async function unsetSetting(context: HomeContext, path: string): Promise<Result<Edited, AdminFailure>> {
  const { home } = context
  const { environment } = await loadSettings(context)
  return await unsetPath({ home, environment }, path)
}

/** Converts `config.yaml` to the version of this release and keeps a copy of the old file. */
export async function migrateSettings(context: HomeContext): Promise<Result<Migration, AdminFailure>> {
  const { home } = context
  const { environment } = await loadSettings(context)
  return await migrateConfig({ home, environment })
}
