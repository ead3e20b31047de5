import { listOfferedModels, type OfferedModel } from "../../admin/models/offered-models.ts"
import { usableProviders } from "../../admin/models/model-providers.ts"
import type { HomeContext } from "../../admin/home-context.ts"
import { loadHome } from "../../admin/loaded-home.ts"
import { compactCount } from "../../base/compact-count.ts"
import type { Choice, ChoiceList } from "../choice-list.ts"

/** A provider to open, or a model to use. A typed model without a provider belongs to the one in use, or to the one that has it. */
export type ModelChoice =
  | { readonly kind: "provider"; readonly provider: string }
  | { readonly kind: "model"; readonly provider: string | undefined; readonly model: string }

export const THIS_SESSION = "this session only"
export const LATER_SESSIONS = "also the default for later sessions"

export interface ModelListOptions {
  readonly context: HomeContext & { readonly version: string }
  /** The model of the conversation. */
  readonly current: { readonly provider: string; readonly model: string }
}

/** The providers that can be used now, and then their models. The choice is always a model. */
export function modelList(options: ModelListOptions): ChoiceList<ModelChoice> {
  const { context, current } = options
  return {
    title: "Model: choose a provider",
    hint: "Enter opens",
    emptyText: "No provider has a key. Run `hermes model` to add one.",
    modes: [THIS_SESSION, LATER_SESSIONS],
    load: async () => {
      const providers = usableProviders(await loadHome(context))
      const isListed = providers.some(({ id }) => id === current.provider)
      const choices = providers.map(({ id, name, keySource }): Choice<ModelChoice> => {
        const isCurrent = id === current.provider
        return {
          value: { kind: "provider", provider: id },
          label: name,
          details: [isCurrent ? current.model : "", keySource ?? ""],
          isCurrent,
          keywords: id,
        }
      })
      const note = "`hermes model` connects further providers; /quit first, then continue with `hermes -c`."
      return { choices: isListed ? choices : [currentProvider(current), ...choices], note }
    },
    freeEntry: (model) => ({ kind: "model", provider: undefined, model }),
    select: (value, { mode }) =>
      Promise.resolve(
        value.kind === "model"
          ? { kind: "done" }
          : { kind: "open", list: modelsOfProvider(value.provider, options, mode) },
      ),
  }
}

/** A provider that needs no key, such as a local server. */
function currentProvider({ provider, model }: ModelListOptions["current"]): Choice<ModelChoice> {
  return { value: { kind: "provider", provider }, label: provider, details: [model, ""], isCurrent: true }
}

function modelsOfProvider(
  provider: string,
  { context, current }: ModelListOptions,
  mode: string | undefined,
): ChoiceList<ModelChoice> {
  const offer = async (prefer: "cache" | "endpoint", signal: AbortSignal) =>
    await listOfferedModels(await loadHome(context), {
      provider: { id: provider },
      prefer,
      version: context.version,
      signal,
    })
  return {
    title: `Models of ${provider}`,
    hint: "Enter uses it",
    emptyText: `No list of models is known for ${provider}. Type the name of one.`,
    modes: mode === LATER_SESSIONS ? [LATER_SESSIONS, THIS_SESSION] : [THIS_SESSION, LATER_SESSIONS],
    load: async (signal) => {
      const { models, problem } = await offer("cache", signal)
      const choices = models.map((model) => modelChoice(model, provider, current))
      return problem === undefined ? { choices } : { choices, note: `${provider} ${problem}. This list may be old.` }
    },
    freeEntry: (model) => ({ kind: "model", provider, model }),
    actions: [
      {
        chord: "ctrl+r",
        label: "fetches the list again",
        run: async (_choice, { signal }) => {
          const { models, problem } = await offer("endpoint", signal)
          return problem === undefined ? `${provider} lists ${models.length} models.` : `${provider} ${problem}.`
        },
      },
    ],
  }
}

function modelChoice(
  { id, contextLength, price, priceWarning }: OfferedModel,
  provider: string,
  current: ModelListOptions["current"],
): Choice<ModelChoice> {
  return {
    value: { kind: "model", provider, model: id },
    label: id,
    details: [
      contextLength === undefined ? "" : `${compactCount(contextLength)} context`,
      price === undefined ? "" : `${price} per million`,
      priceWarning === undefined ? "" : "expensive",
    ],
    isCurrent: provider === current.provider && id === current.model,
  }
}
