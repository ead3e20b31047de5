import type { Result } from "../../base/result.ts"
import { fail, ok } from "../../base/result.ts"
import type { AuxiliarySettings } from "../../config/auxiliary-settings.ts"
import type { Config } from "../../config/load-config.ts"
import { loadCatalog } from "../catalog/catalog.ts"
import type { ChosenModel, ModelSelection } from "../choose-model.ts"
import { PROVIDERS } from "../providers.ts"
import type { Provider } from "../provider.ts"
import { mainFallbacks, parseFallbackEntry } from "./fallback-entry.ts"
import type { ProviderSelection } from "./fallback-entry.ts"
import { parseTaskChoice, modelForTask, visionModelOf } from "./task-model.ts"

/** A model that might do a task; resolved only when it is tried. */
export interface Candidate {
  readonly name: string
  /** The settings name it. When a candidate that was only guessed has no key, that is not reported. */
  readonly configured: boolean
  choose(): Result<ChosenModel, { readonly message: string }>
}

export interface Candidates {
  /** In the order in which they are tried. */
  readonly candidates: readonly Candidate[]
  /** The settings name the first one; the others are its fallbacks. */
  readonly explicit: boolean
}

export interface CandidateSources {
  readonly config: Config
  readonly main: ChosenModel | undefined
  readonly choose: (selection: ModelSelection) => Result<ChosenModel, { readonly message: string }>
}

/** The task that needs a model with vision. */
export const VISION = "vision"

export async function candidatesFor(
  task: string,
  settings: AuxiliarySettings,
  sources: CandidateSources,
): Promise<Candidates> {
  const vision = task === VISION
  const chain = settings.fallbackChain
    .map((entry) => parseFallbackEntry(entry))
    .filter((selection) => selection !== undefined)
    .map((selection) => fromSettings({ ...selection, ...modelForTask(selection, { vision, ...sources }) }, sources))
  const choice = parseTaskChoice(settings, { vision, ...sources })
  if (choice.kind === "provider") {
    const { first, last } = await mainCandidates("", vision, sources)
    const named = withTaskSettings(fromSettings(choice.selection, sources), settings)
    return { explicit: true, candidates: [named, ...chain, ...present(first ?? last)] }
  }
  const main = await mainCandidates(settings.model, vision, sources)
  const first = present(main.first).map((candidate) => withTaskSettings(candidate, settings))
  if (choice.kind === "main") return { explicit: first.length > 0, candidates: [...first, ...chain] }
  const others = vision
    ? [...guesses(visionProviders(sources), sources), ...present(main.last)]
    : otherCandidates(sources)
  return { explicit: false, candidates: [...first, ...chain, ...others] }
}

function present<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value]
}

function fromSettings(selection: ProviderSelection, { choose }: CandidateSources): Candidate {
  return { name: nameOf(selection), configured: true, choose: () => choose(selection) }
}

function nameOf({ provider, model, baseUrl }: ProviderSelection): string {
  return [provider, model, baseUrl].filter((part) => part !== undefined).join(" ")
}

/** Applies the task's `extra_body` and `context_length`. They apply to the named model, not to its fallbacks. */
function withTaskSettings(candidate: Candidate, { extraBody, contextLength }: AuxiliarySettings): Candidate {
  return {
    ...candidate,
    choose: () => {
      const chosen = candidate.choose()
      if (!chosen.ok) return chosen
      const { runtime } = chosen.value
      return ok({
        ...chosen.value,
        runtime: contextLength === null ? runtime : { ...runtime, contextLength },
        extraBody: { ...chosen.value.extraBody, ...extraBody },
      })
    },
  }
}

/** The position of the conversation's model among the candidates, if any. */
interface MainCandidates {
  readonly first?: Candidate
  /** Whether it has vision is unknown, so models that certainly have it come first. */
  readonly last?: Candidate
}

async function mainCandidates(model: string, vision: boolean, sources: CandidateSources): Promise<MainCandidates> {
  const { main } = sources
  if (main === undefined) return {}
  if (!vision || model !== "") return { first: mainWith(model, main, sources) }
  const supportsVision = await hasVision(main, sources)
  if (supportsVision === true) return { first: mainWith("", main, sources) }
  const sibling = visionModelOf(main.runtime.provider)
  if (sibling !== undefined) return { first: mainWith(sibling, main, sources) }
  return supportsVision === undefined ? { last: mainWith("", main, sources) } : {}
}

function mainWith(model: string, main: ChosenModel, { choose }: CandidateSources): Candidate {
  const { runtime, key, usesPool } = main
  const own = usesPool ? {} : { baseUrl: runtime.baseUrl, ...(key === undefined ? {} : { apiKey: key }) }
  return {
    name: `main ${model}`,
    configured: true,
    choose: () =>
      model === "" || model === runtime.model ? ok(main) : choose({ provider: runtime.provider, model, ...own }),
  }
}

async function hasVision({ runtime }: ChosenModel, { config }: CandidateSources): Promise<boolean | undefined> {
  const configured = config.get("model.supports_vision")
  if (configured !== null) return configured
  const catalog = await loadCatalog()
  return catalog.find(runtime.provider, runtime.model)?.vision
}

/** Every other provider, cheap and general ones first; those without a key or login are skipped when tried. */
function otherCandidates(sources: CandidateSources): readonly Candidate[] {
  return [
    ...mainFallbacks(sources.config).map((selection) => fromSettings(selection, sources)),
    ...guesses([...GENERAL, ...PROVIDERS.filter(isDirect).map(({ id }) => id)], sources),
  ]
}

const GENERAL: readonly string[] = ["openrouter", "nous", "custom", "anthropic"]

function visionProviders({ main }: CandidateSources): readonly string[] {
  const isCustom = main?.runtime.provider === "custom"
  return ["openrouter", "nous", "anthropic", ...(isCustom ? [] : ["custom"])]
}

function isDirect({ id, authType, neverAutomatic, defaultModel }: Provider): boolean {
  return authType === "api_key" && neverAutomatic !== true && defaultModel !== "" && !GENERAL.includes(id)
}

function guesses(providers: readonly string[], sources: CandidateSources): readonly Candidate[] {
  return providers.map((provider) => ({
    name: provider,
    configured: false,
    choose: () => {
      const chosen = sources.choose({ provider, ...modelForTask({ provider }, { vision: false, ...sources }) })
      // This token belongs to another program, so it is not used unless the settings name the provider.
      return chosen.ok && chosen.value.runtime.credentialSource === FOREIGN_TOKEN
        ? fail({ message: `${provider} has no key` })
        : chosen
    },
  }))
}

const FOREIGN_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"
