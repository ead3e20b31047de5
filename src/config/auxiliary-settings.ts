import { isRecord } from "../base/json.ts"
import type { Config } from "./load-config.ts"
import { AUXILIARY_FIELDS } from "./settings/auxiliary.ts"

/** The model settings of one auxiliary task. */
export interface AuxiliarySettings {
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  readonly apiKey: string
  readonly apiMode: string
  readonly timeoutSeconds: number
  readonly extraBody: Readonly<Record<string, unknown>>
  readonly maxTokens: number | null
  readonly contextLength: number | null
  readonly fallbackChain: readonly unknown[]
}

/** The settings of an auxiliary task, built-in or of a plugin; unset fields have their defaults. */
export function auxiliarySettings(config: Config, task: string): AuxiliarySettings {
  const found = config.lookup(`auxiliary.${task}`)
  const written = isRecord(found) ? found : {}
  const fields = AUXILIARY_FIELDS
  return {
    provider: fields.provider.read(written["provider"]) ?? fields.provider.default,
    model: fields.model.read(written["model"]) ?? fields.model.default,
    baseUrl: fields.base_url.read(written["base_url"]) ?? fields.base_url.default,
    apiKey: fields.api_key.read(written["api_key"]) ?? fields.api_key.default,
    apiMode: fields.api_mode.read(written["api_mode"]) ?? fields.api_mode.default,
    timeoutSeconds: fields.timeout.read(written["timeout"]) ?? fields.timeout.default,
    extraBody: fields.extra_body.read(written["extra_body"]) ?? fields.extra_body.default,
    maxTokens: fields.max_tokens.read(written["max_tokens"]) ?? fields.max_tokens.default,
    contextLength: fields.context_length.read(written["context_length"]) ?? fields.context_length.default,
    fallbackChain: fields.fallback_chain.read(written["fallback_chain"]) ?? fields.fallback_chain.default,
  }
}
