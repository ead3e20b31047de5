import type { Environment } from "../../../config/environment.ts"
import type { Home } from "../../../config/home.ts"
import type { Config } from "../../../config/load.ts"
import { storedProviders } from "../../../config/stored-logins.ts"
import { chooseModel, type ChosenModel } from "../../../llm/choose-model.ts"
import type { Terminal } from "../../terminal.ts"

/** Whose settings are looked at and changed, and where questions are asked. */
export interface ModelPlace {
  readonly home: Home
  readonly config: Config
  readonly environment: Environment
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** Leads a person through the login at a provider and stores it. */
  readonly logIn: (provider: string) => Promise<void>
}

/** How a provider would be reached now; undefined when its key or address is missing. */
export function reachedAs(place: ModelPlace, provider: string): ChosenModel | undefined {
  const { config, environment, home } = place
  // Any name does: only address and key are asked about.
  const chosen = chooseModel({ provider, model: "any" }, { config, environment, stored: storedProviders(home) })
  return chosen.ok ? chosen.value : undefined
}
