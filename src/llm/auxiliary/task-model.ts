import { stringField } from "../../base/json.ts"
import type { AuxiliarySettings } from "../../config/auxiliary-settings.ts"
import type { Config } from "../../config/load-config.ts"
import type { ChosenModel, ModelSelection } from "../choose-model.ts"
import { findProvider } from "../providers.ts"
import type { ProviderSelection } from "./fallback-entry.ts"

/** Which model the settings of a task name. */
export type TaskChoice =
  | { readonly kind: "automatic" }
  | { readonly kind: "main" }
  | { readonly kind: "provider"; readonly selection: ProviderSelection }

interface TaskSources {
  readonly config: Config
  readonly main: ChosenModel | undefined
  readonly vision: boolean
}

const OPENAI = "https://api.openai.com/v1"

export function parseTaskChoice(settings: AuxiliarySettings, sources: TaskSources): TaskChoice {
  const { apiKey, apiMode, model } = settings
  const named = settings.provider.trim().toLowerCase()
  const automatic = named === "" || named === "auto"
  // An address without a provider is a custom server. `openai` always means OpenAI itself, regardless of OPENAI_BASE_URL.
  const address = settings.baseUrl === "" && named === "openai" ? OPENAI : settings.baseUrl
  if (automatic && address === "") return { kind: "automatic" }
  if (named === "main" && address === "") return { kind: "main" }
  const selection: ProviderSelection = {
    provider: automatic || named === "main" ? "custom" : settings.provider.trim(),
    ...(model === "" ? {} : { model }),
    ...(address === "" ? {} : { baseUrl: apiMode === "chat_completions" ? chatAddress(address) : address }),
    ...(apiKey === "" ? {} : { apiKey }),
    ...(apiMode === "" ? {} : { apiMode }),
  }
  return { kind: "provider", selection: { ...selection, ...modelForTask(selection, sources) } }
}

/** Some vendors have a separate base URL for each wire; returns the one for Chat Completions. */
function chatAddress(address: string): string {
  const url = URL.parse(address)
  if (url === null || !/\/anthropic\/*$/.test(url.pathname)) return address
  const chat = /(^|\.)(bigmodel\.cn|z\.ai)$/.test(url.hostname) ? "/paas/v4" : "/v1"
  return address.replace(/\/anthropic\/*$/, chat)
}

/** The default auxiliary model at aggregators. */
const SMALL_MODEL = "google/gemini-3-flash-preview"
const SMALL_MODEL_AT: ReadonlySet<string> = new Set(["openrouter", "nous"])

/** Returns the model for a task: the selected one, else the provider's small model, else the one the conversation uses there. */
export function modelForTask(
  selection: ProviderSelection,
  { config, main, vision }: TaskSources,
): Pick<ModelSelection, "model"> {
  const name = selection.provider.replace(/^custom:/, "")
  const settings = config.lookup(`providers.${name}`)
  const provider = findProvider(name)
  const id = provider?.id ?? name
  const model =
    selection.model ??
    (vision ? visionModelOf(id) : undefined) ??
    stringField(settings, "default_model") ??
    stringField(settings, "model") ??
    (SMALL_MODEL_AT.has(id) ? SMALL_MODEL : provider?.defaultAuxModel) ??
    (main?.runtime.provider === id ? main.runtime.model : undefined) ??
    provider?.defaultModel ??
    ""
  return model === "" ? {} : { model }
}

/** The vision model of providers whose default model has no vision. */
const VISION_MODELS: Readonly<Record<string, string>> = { xiaomi: "mimo-v2.5", zai: "glm-5v-turbo" }

export function visionModelOf(provider: string): string | undefined {
  return VISION_MODELS[provider]
}
