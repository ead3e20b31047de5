import { loadDotenv } from "../../config/dotenv.ts"
import type { Environment } from "../../config/environment.ts"
import { loadConfig, type Config } from "../../config/load-config.ts"
import type { HomeContext } from "../home-context.ts"

export interface Settings {
  readonly config: Config
  /** The variables of the process, overridden by those of `.env`. */
  readonly environment: Environment
  /** Problems found in `.env`. */
  readonly warnings: readonly string[]
}

/** Loads settings and secrets as a run would. Never fails: problems are in `config.problems`, `config.broken` and `warnings`. */
export async function loadSettings(context: Pick<HomeContext, "home" | "environment">): Promise<Settings> {
  const { environment, warnings } = loadDotenv(context.home, context.environment)
  return { config: await loadConfig({ home: context.home, environment }), environment, warnings }
}
