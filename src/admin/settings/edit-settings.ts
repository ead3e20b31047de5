import { chooseModelFor } from "../../app/services/model-sources.ts"
import { ok, type Result } from "../../base/result.ts"
import { storeSecret } from "../../config/dotenv.ts"
import { setFromText, unsetPath, type Edited } from "../../config/edit-config.ts"
import { ensureHome } from "../../config/home.ts"
import { migrateConfig, type Migration } from "../../config/migration/migrate.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { checkModelValue } from "./check-model-value.ts"
import { checkPermissionValue } from "./check-permission-value.ts"
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
  const permitted = checkPermissionValue(path, text, config)
  if (!permitted.ok) return permitted
  const edited = await setFromText({ home, environment }, path, text)
  if (!edited.ok || !edited.value.paths.some((changed) => changed.startsWith("model."))) return edited
  return ok({ ...edited.value, warnings: [...edited.value.warnings, ...(await missingForModel(context))] })
}

/** Stores the value of a secret setting in `.env`, and a reference to it in `config.yaml`. */
export async function setSecretSetting(
  context: HomeContext,
  path: string,
  secret: string,
): Promise<Result<Edited, AdminFailure>> {
  // Already a reference, or empty to have none.
  if (secret === "" || secret.includes("${")) return await setSetting(context, path, secret)
  const { home } = context
  ensureHome(home, context.environment)
  const { environment } = await loadSettings(context)
  const name = path.replaceAll(/[^A-Za-z0-9]/gu, "_").toUpperCase()
  const stored = await storeSecret({ home, environment, name, value: secret })
  if (!stored.ok) return stored
  const edited = await setSetting(context, path, `\${${name}}`)
  if (!edited.ok) return edited
  return ok({
    ...edited.value,
    warnings: [`the value is stored in .env as ${name}; config.yaml refers to it`, ...stored.value],
  })
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
