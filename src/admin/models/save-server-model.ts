import { ok, type Result } from "../../base/result.ts"
import { CUSTOM_PROVIDER } from "../../llm/providers.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { saveModelChoice } from "./save-model-choice.ts"
import { customServerKey, storeProviderKey, withProviderKey } from "./store-provider-key.ts"

/** A model of a server that the user named by its address. */
export interface ServerModel {
  readonly baseUrl: string
  readonly model: { readonly id: string; readonly contextLength?: number }
  readonly isLocal: boolean
  /** A key that the user typed; it is stored in `.env`. */
  readonly key?: string
}

/** Makes the model the default. Returns warnings. */
export async function saveServerModel(
  home: LoadedHome,
  { baseUrl, model, isLocal, key }: ServerModel,
): Promise<Result<readonly string[], AdminFailure>> {
  const choice = { provider: CUSTOM_PROVIDER, model, baseUrl, fromLocalServer: isLocal }
  if (key === undefined) return await saveModelChoice(home, choice)
  const secret = customServerKey(key)
  const stored = await storeProviderKey(home, secret)
  if (!stored.ok) return stored
  const apiKey = `\${${secret.variable}}`
  const saved = await saveModelChoice(withProviderKey(home, secret), { ...choice, apiKey })
  return saved.ok ? ok([...stored.value, ...saved.value]) : saved
}
