import { stringField } from "../../base/json.ts"
import type { AuxiliarySettings } from "../../config/auxiliary.ts"
import type { Config } from "../../config/load.ts"
import type { ChosenModel, ModelWish } from "../choose-model.ts"
import { findProvider } from "../providers.ts"
import type { NamedWish } from "./chain-entry.ts"

/** Whom the settings of a task name. */
export type TaskChoice =
  | { readonly kind: "automatic" }
  | { readonly kind: "main" }
  | { readonly kind: "provider"; readonly wish: NamedWish }

interface TaskSources {
  readonly config: Config
  readonly main: ChosenModel | undefined
  readonly vision: boolean
}

const OPENAI = "https://api.openai.com/v1"

export function readChoice(settings: AuxiliarySettings, sources: TaskSources): TaskChoice {
  const { apiKey, apiMode, model } = settings
  const named = settings.provider.trim().toLowerCase()
  const automatic = named === "" || named === "auto"
  // An address with no provider is a server of one's own; `openai` is always OpenAI itself, wherever OPENAI_BASE_URL points.
  const address = settings.baseUrl === "" && named === "openai" ? OPENAI : settings.baseUrl
  if (automatic && address === "") return { kind: "automatic" }
  if (named === "main" && address === "") return { kind: "main" }
  const wish: NamedWish = {
    provider: automatic || named === "main" ? "custom" : settings.provider.trim(),
    ...(model === "" ? {} : { model }),
    ...(address === "" ? {} : { baseUrl: apiMode === "chat_completions" ? chatAddress(address) : address }),
    ...(apiKey === "" ? {} : { apiKey }),
    ...(apiMode === "" ? {} : { apiMode }),
  }
  return { kind: "provider", wish: { ...wish, ...taskModel(wish, sources) } }
}

/** Vendors that speak two wires have an address for each; this one is for Chat Completions. */
function chatAddress(address: string): string {
  const url = URL.parse(address)
  if (url === null || !/\/anthropic\/*$/.test(url.pathname)) return address
  const chat = /(^|\.)(bigmodel\.cn|z\.ai)$/.test(url.hostname) ? "/paas/v4" : "/v1"
  return address.replace(/\/anthropic\/*$/, chat)
}

/** What sellers of many models are asked for when the settings name no model. */
const SMALL_MODEL = "google/gemini-3-flash-preview"
const SMALL_MODEL_AT: ReadonlySet<string> = new Set(["openrouter", "nous"])

/** The model to ask a provider for: the wish's own, or a small one, or what the conversation uses there. */
export function taskModel(wish: NamedWish, { config, main, vision }: TaskSources): Pick<ModelWish, "model"> {
  const name = wish.provider.replace(/^custom:/, "")
  const own = config.lookup(`providers.${name}`)
  const provider = findProvider(name)
  const id = provider?.id ?? name
  const model =
    wish.model ??
    (vision ? visionModel(id) : undefined) ??
    stringField(own, "default_model") ??
    stringField(own, "model") ??
    (SMALL_MODEL_AT.has(id) ? SMALL_MODEL : provider?.defaultAuxModel) ??
    (main?.runtime.provider === id ? main.runtime.model : undefined) ??
    provider?.defaultModel ??
    ""
  return model === "" ? {} : { model }
}

/** Providers whose usual models see nothing, but that have one which does. */
const VISION_MODELS: Readonly<Record<string, string>> = { xiaomi: "mimo-v2.5", zai: "glm-5v-turbo" }

export function visionModel(provider: string): string | undefined {
  return VISION_MODELS[provider]
}
