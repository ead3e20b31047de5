import { nearest } from "../../base/nearest-name.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { brokenFileWarning } from "../../config/config-file.ts"
import type { ConfigProblem } from "../../config/config-problem.ts"
import { maskSecret, secretVariable } from "../../config/secrets.ts"
import { settingKeys } from "../../config/settings.ts"
import type { HomeContext } from "../home-context.ts"
import { loadSettings } from "./load-settings.ts"

export interface ReadSetting {
  /** Secrets are masked. */
  readonly value: unknown
  /** What is wrong with the setting in the file. */
  readonly problems: readonly ConfigProblem[]
}

export type UnreadableSetting =
  /** `config.yaml` cannot be used, so the value in it is unknown. */
  | { readonly kind: "broken-file"; readonly message: string }
  /** `suggestion` is the setting with the most similar name. */
  | { readonly kind: "not-set"; readonly suggestion: string | undefined }

/** Returns the effective value of a setting, or a secret in masked form. */
export async function readSetting(context: HomeContext, path: string): Promise<Result<ReadSetting, UnreadableSetting>> {
  const { config, environment } = await loadSettings(context)
  const variable = secretVariable(path)
  const secret = variable === undefined ? undefined : environment.get(variable)
  const isSecret = secret !== undefined && secret !== ""
  if (config.broken !== undefined && !isSecret) {
    return fail({ kind: "broken-file", message: brokenFileWarning(context.home, config.broken) })
  }
  const value = config.lookup(path)
  const problems = config.problems.filter(
    ({ path: wrong }) => isSameOrInside(path, wrong) || isSameOrInside(wrong, path),
  )
  if (value !== undefined) return ok({ value, problems })
  if (isSecret) return ok({ value: maskSecret(secret), problems: [] })
  const suggestion = nearest(path, settingKeys())
  return fail({ kind: "not-set", suggestion: suggestion === path ? undefined : suggestion })
}

function isSameOrInside(path: string, section: string): boolean {
  return section !== "" && (path === section || path.startsWith(`${section}.`))
}
