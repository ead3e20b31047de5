import { loadDotenv } from "../config/dotenv.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import { loadConfig, type Config } from "../config/load.ts"
import type { Refusal } from "../config/managed.ts"
import type { Result } from "../base/result.ts"
import { CliError } from "./command.ts"

export interface Settings {
  readonly config: Config
  /** The inherited variables with those of `.env` laid over them. */
  readonly environment: Environment
  /** What is wrong with `.env`. */
  readonly warnings: readonly string[]
}

/** Settings and secrets as a run would see them. Never fails; what is wrong is in `config.problems`, `config.broken` and `warnings`. */
export async function loadSettings(place: {
  readonly home: Home
  readonly environment: Environment
}): Promise<Settings> {
  const { environment, warnings } = loadDotenv(place.home, place.environment)
  return { config: await loadConfig({ home: place.home, environment }), environment, warnings }
}

/** The value of an operation of the config room, or its refusal as this command's answer. */
export function granted<T>(result: Result<T, Refusal>): T {
  if (result.ok) return result.value
  throw new CliError(result.error.message, { exitCode: result.error.exitCode })
}
