import type { Result } from "../../base/result.ts"
import { storeSecret } from "../../config/dotenv.ts"
import { withVariables } from "../../config/environment.ts"
import type { Provider } from "../../llm/provider.ts"
import { CUSTOM_PROVIDER } from "../../llm/providers.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** A key that the user typed, and the variable it is stored under. */
export interface ProviderSecret {
  readonly variable: string
  readonly key: string
}

/** The home as it will be once the key is stored. */
export function withProviderKey(home: LoadedHome, { variable, key }: ProviderSecret): LoadedHome {
  return { ...home, environment: withVariables(home.environment, { [variable]: key }) }
}

/** Stores a key in `.env` under the name of its variable. Returns warnings. */
export async function storeProviderKey(
  { home, environment }: LoadedHome,
  { variable, key }: ProviderSecret,
): Promise<Result<readonly string[], AdminFailure>> {
  return await storeSecret({ home, environment, name: variable, value: key })
}

/** The variable for the key of a server at an address that the user typed; `model.api_key` refers to it. */
export function serverKeyVariable(provider: Provider): string {
  return provider.keyVariables.find((name) => !VENDOR_VARIABLES.has(name)) ?? "CUSTOM_API_KEY"
}

/** A key for the server at the address in `model.base_url`. */
export function customServerKey(key: string): ProviderSecret {
  return { variable: serverKeyVariable(CUSTOM_PROVIDER), key }
}

/** Contain the key of a vendor, which the key of another server must not overwrite. */
const VENDOR_VARIABLES: ReadonlySet<string> = new Set(["OPENAI_API_KEY"])
