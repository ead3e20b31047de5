import { ok, type Result } from "../../base/result.ts"
import { storeSecret } from "../../config/dotenv.ts"
import { withVariables } from "../../config/environment.ts"
import type { Provider } from "../../llm/provider.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"

export interface StoredProviderKey {
  /** The home with the key in its environment. */
  readonly home: LoadedHome
  readonly warnings: readonly string[]
}

/** Stores a key in `.env` under the name of its variable. */
export async function storeProviderKey(
  home: LoadedHome,
  { variable, key }: { readonly variable: string; readonly key: string },
): Promise<Result<StoredProviderKey, AdminFailure>> {
  const { environment } = home
  const stored = await storeSecret({ home: home.home, environment, name: variable, value: key })
  if (!stored.ok) return stored
  return ok({
    home: { ...home, environment: withVariables(environment, { [variable]: key }) },
    warnings: stored.value,
  })
}

/** The variable for the key of a server at an address that the user typed; `model.api_key` refers to it. */
export function serverKeyVariable(provider: Provider): string {
  return provider.keyVariables.find((name) => !VENDOR_VARIABLES.has(name)) ?? "CUSTOM_API_KEY"
}

/** Contain the key of a vendor, which the key of another server must not overwrite. */
const VENDOR_VARIABLES: ReadonlySet<string> = new Set(["OPENAI_API_KEY"])
