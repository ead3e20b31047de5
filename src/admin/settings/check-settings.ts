import { existsSync } from "node:fs"
import { loadPermissionPolicy } from "../../app/permissions/load-permission-policy.ts"
import type { ConfigProblem } from "../../config/config-problem.ts"
import type { Config } from "../../config/load-config.ts"
import { isOutdated } from "../../config/migration/migrate.ts"
import { isReserved } from "../../config/setting-path.ts"
import { CONFIG_VERSION, settingKeys } from "../../config/settings.ts"
import { configVersionOf } from "../../config/validate.ts"
import type { HomeContext } from "../home-context.ts"
import { loadSettings } from "./load-settings.ts"

export type SettingsCheck =
  /** The file does not parse, so its settings are ignored. */
  | { readonly kind: "broken"; readonly path: string; readonly broken: NonNullable<Config["broken"]> }
  | {
      readonly kind: "checked"
      readonly path: string
      /** Undefined when there is no file. */
      readonly file: ConfigFileFacts | undefined
      readonly problems: readonly ConfigProblem[]
      /** Problems found in `.env`. */
      readonly warnings: readonly string[]
      /** Settings in the file that no code reads yet. */
      readonly reserved: readonly string[]
    }

export interface ConfigFileFacts {
  /** 0 when the file states no version. */
  readonly version: number
  readonly currentVersion: number
  readonly outdated: boolean
  /** How many settings are not in the file and have their default value. */
  readonly defaultCount: number
  readonly settingCount: number
}

export async function checkSettings(context: HomeContext): Promise<SettingsCheck> {
  const { config, warnings } = await loadSettings(context)
  const { path, broken, problems } = config
  if (broken !== undefined) return { kind: "broken", path, broken }
  return {
    kind: "checked",
    path,
    file: existsSync(path) ? fileFacts(config, context) : undefined,
    problems: [...problems, ...(await ruleProblems(context, config))],
    warnings,
    reserved: settingKeys().filter((key) => isReserved(key) && config.origin(key) === "file"),
  }
}

/** Rules that cannot be used stop the start, so they are reported with the settings. */
async function ruleProblems({ home }: HomeContext, config: Config): Promise<readonly ConfigProblem[]> {
  const loaded = await loadPermissionPolicy({ config, home, workspaceRoot: undefined, platform: "cli" })
  if (loaded.ok) return []
  const fix = "correct the rule; `hermes permissions` shows the active ones"
  return [{ severity: "error", path: "approvals", message: loaded.error, fix, blocksStart: true }]
}

function fileFacts(config: Config, { home, environment }: HomeContext): ConfigFileFacts {
  const keys = settingKeys()
  return {
    version: configVersionOf(config.user()),
    currentVersion: CONFIG_VERSION,
    outdated: isOutdated(config.user(), { home, environment }),
    defaultCount: keys.filter((key) => config.origin(key) === "default").length,
    settingCount: keys.length,
  }
}
