import type { Result } from "../../base/result.ts"
import { fail, ok } from "../../base/result.ts"
import type { AuxiliarySettings } from "../../config/auxiliary.ts"
import type { Config } from "../../config/load.ts"
import { loadCatalog } from "../catalog/catalog.ts"
import type { ChosenModel, ModelWish } from "../choose-model.ts"
import { PROVIDERS } from "../providers.ts"
import type { Provider } from "../provider.ts"
import { mainFallbacks, wishFromEntry } from "./chain-entry.ts"
import type { NamedWish } from "./chain-entry.ts"
import { readChoice, taskModel, visionModel } from "./task-model.ts"

/** Somebody who might do a task; chosen only when its turn comes. */
export interface Candidate {
  readonly name: string
  /** The person asked for it. A mere guess that turns out to have no key is not worth a word. */
  readonly configured: boolean
  choose(): Result<ChosenModel, { readonly message: string }>
}

export interface Candidates {
  /** In the order in which they are asked. */
  readonly candidates: readonly Candidate[]
  /** The first one is named by the settings; the others only stand in for it. */
  readonly explicit: boolean
}

export interface CandidateSources {
  readonly config: Config
  readonly main: ChosenModel | undefined
  readonly choose: (wish: ModelWish) => Result<ChosenModel, { readonly message: string }>
}

/** The one task that needs a model with eyes. */
export const VISION = "vision"

export async function candidatesFor(
  task: string,
  settings: AuxiliarySettings,
  sources: CandidateSources,
): Promise<Candidates> {
  const vision = task === VISION
  const chain = settings.fallbackChain
    .map((entry) => wishFromEntry(entry))
    .filter((wish) => wish !== undefined)
    .map((wish) => fromSettings({ ...wish, ...taskModel(wish, { vision, ...sources }) }, sources))
  const choice = readChoice(settings, { vision, ...sources })
  if (choice.kind === "provider") {
    const { first, last } = await mainCandidates("", vision, sources)
    const own = tuned(fromSettings(choice.wish, sources), settings)
    return { explicit: true, candidates: [own, ...chain, ...present(first ?? last)] }
  }
  const main = await mainCandidates(settings.model, vision, sources)
  const first = present(main.first).map((candidate) => tuned(candidate, settings))
  if (choice.kind === "main") return { explicit: first.length > 0, candidates: [...first, ...chain] }
  const others = vision ? [...guesses(seeing(sources), sources), ...present(main.last)] : anybody(sources)
  return { explicit: false, candidates: [...first, ...chain, ...others] }
}

function present<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value]
}

function fromSettings(wish: NamedWish, { choose }: CandidateSources): Candidate {
  return { name: nameOf(wish), configured: true, choose: () => choose(wish) }
}

function nameOf({ provider, model, baseUrl }: NamedWish): string {
  return [provider, model, baseUrl].filter((part) => part !== undefined).join(" ")
}

/** What the settings say about the task belongs to the model they are about, not to those that stand in for it. */
function tuned(candidate: Candidate, { extraBody, contextLength }: AuxiliarySettings): Candidate {
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

/** Where the model of the conversation stands among the candidates, if anywhere. */
interface MainCandidates {
  readonly first?: Candidate
  /** Nobody knows whether it can see, so everybody who surely can comes before it. */
  readonly last?: Candidate
}

async function mainCandidates(model: string, vision: boolean, sources: CandidateSources): Promise<MainCandidates> {
  const { main } = sources
  if (main === undefined) return {}
  if (!vision || model !== "") return { first: mainWith(model, main, sources) }
  const sees = await canSee(main, sources)
  if (sees === true) return { first: mainWith("", main, sources) }
  const sibling = visionModel(main.runtime.provider)
  if (sibling !== undefined) return { first: mainWith(sibling, main, sources) }
  return sees === undefined ? { last: mainWith("", main, sources) } : {}
}

function mainWith(model: string, main: ChosenModel, { choose }: CandidateSources): Candidate {
  const { runtime, key, managed } = main
  const own = managed ? {} : { baseUrl: runtime.baseUrl, ...(key === undefined ? {} : { apiKey: key }) }
  return {
    name: `main ${model}`,
    configured: true,
    choose: () =>
      model === "" || model === runtime.model ? ok(main) : choose({ provider: runtime.provider, model, ...own }),
  }
}

async function canSee({ runtime }: ChosenModel, { config }: CandidateSources): Promise<boolean | undefined> {
  const told = config.get("model.supports_vision")
  if (told !== null) return told
  const catalog = await loadCatalog()
  return catalog.find(runtime.provider, runtime.model)?.vision
}

/** Whoever has a key or a login, cheap and general ones first. */
function anybody(sources: CandidateSources): readonly Candidate[] {
  return [
    ...mainFallbacks(sources.config).map((wish) => fromSettings(wish, sources)),
    ...guesses([...GENERAL, ...PROVIDERS.filter(isDirect).map(({ id }) => id)], sources),
  ]
}

const GENERAL: readonly string[] = ["openrouter", "nous", "custom", "anthropic"]

function seeing({ main }: CandidateSources): readonly string[] {
  const own = main?.runtime.provider === "custom"
  return ["openrouter", "nous", "anthropic", ...(own ? [] : ["custom"])]
}

function isDirect({ id, authType, neverAutomatic, defaultModel }: Provider): boolean {
  return authType === "api_key" && neverAutomatic !== true && defaultModel !== "" && !GENERAL.includes(id)
}

function guesses(providers: readonly string[], sources: CandidateSources): readonly Candidate[] {
  return providers.map((provider) => ({
    name: provider,
    configured: false,
    choose: () => {
      const chosen = sources.choose({ provider, ...taskModel({ provider }, { vision: false, ...sources }) })
      // A token that another program left in the environment was not meant for us.
      return chosen.ok && chosen.value.runtime.credentialSource === BORROWED_TOKEN
        ? fail({ message: `${provider} has no key of its own` })
        : chosen
    },
  }))
}

const BORROWED_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"
