import {
  checkProviderKey,
  isServerOfUser,
  unconnectedProviders,
  type UnconnectedProvider,
} from "../../admin/models/connect-provider.ts"
import { listOfferedModels, type OfferedModel } from "../../admin/models/offered-models.ts"
import { usableProviders } from "../../admin/models/model-providers.ts"
import { withProviderKey, type ProviderSecret } from "../../admin/models/store-provider-key.ts"
import type { HomeContext } from "../../admin/home-context.ts"
import { loadHome } from "../../admin/loaded-home.ts"
import { assertNever } from "../../base/assert-never.ts"
import { compactCount } from "../../base/compact-count.ts"
import { asSentence } from "../../base/sentence.ts"
import { typedServerAddress } from "../../base/typed-server-address.ts"
import type { Choice, ChoiceList, Selection } from "../choice-list.ts"
import { LATER_SESSIONS, modesFor, THIS_SESSION, type ModelChoice } from "./model-choice.ts"
import { addressList, openServer } from "./server-list.ts"

export interface ModelListOptions {
  readonly context: HomeContext & { readonly version: string }
  /** The model of the conversation; undefined where there is none yet. */
  readonly current: { readonly provider: string; readonly model: string } | undefined
  /** The choice is kept for later sessions, unless the user switches that off. */
  readonly keepsChoice?: boolean
  /** The caller asks for the login or the address of a provider that needs one; otherwise the list says how to get it. */
  readonly picksUnconnected?: boolean
}

/** The providers, and then their models; in between, the key of a provider that has none. The choice is always a model. */
export function modelList(options: ModelListOptions): ChoiceList<ModelChoice> {
  const { context, current } = options
  return {
    title: "Model: choose a provider",
    hint: "Enter opens",
    modes: modesFor(options.keepsChoice === true ? LATER_SESSIONS : THIS_SESSION),
    load: async () => {
      const home = await loadHome(context)
      const providers = usableProviders(home)
      const isListed = current === undefined || providers.some(({ id }) => id === current.provider)
      const choices = providers.map(({ id, name, keySource }): Choice<ModelChoice> => {
        const isCurrent = id === current?.provider
        return {
          value: { kind: "provider", provider: id },
          label: name,
          details: [isCurrent ? current.model : "", keySource ?? ""],
          isCurrent,
          keywords: id,
          group: "Ready",
        }
      })
      const unconnected = unconnectedProviders(home).map((provider): Choice<ModelChoice> => ({
        value: { kind: "unconnected", provider },
        label: provider.name,
        details: [MISSING[provider.missing.kind]],
        keywords: provider.id,
        group: "Not connected yet",
      }))
      return { choices: [...(isListed ? [] : [currentProvider(current)]), ...choices, ...unconnected] }
    },
    typedText: "type to filter, or type a model name or a server address",
    freeEntry: (text) =>
      typedServerAddress(text) === undefined
        ? { kind: "model", provider: undefined, model: text }
        : { kind: "address", address: text },
    select: async (value, { mode, signal }) =>
      value.kind === "address"
        ? await openServer(value.address, { context, mode, signal })
        : openChoice(value, options, mode),
  }
}

const MISSING: Readonly<Record<UnconnectedProvider["missing"]["kind"], string>> = {
  "needs-key": "needs a key",
  "needs-login": "needs a login",
  "needs-address": "needs an address",
  "needs-variable": "needs an account",
}

function openChoice(
  value: Exclude<ModelChoice, { kind: "address" }>,
  options: ModelListOptions,
  mode: string | undefined,
): Selection<ModelChoice> {
  if (value.kind === "model" || value.kind === "key") return { kind: "done" }
  if (value.kind === "provider") return { kind: "open", list: modelsOfProvider({ id: value.provider }, options, mode) }
  const { provider } = value
  const { missing, id, name } = provider
  if (isServerOfUser(provider)) return { kind: "open", list: addressList({ context: options.context, mode }) }
  if (options.picksUnconnected === true && missing.kind !== "needs-key") return { kind: "done" }
  switch (missing.kind) {
    case "needs-key":
      return { kind: "open", list: keyOfProvider({ ...provider, variable: missing.variable }, options, mode) }
    case "needs-login":
      return { kind: "stay", note: `Log in at ${name} with \`hermes auth add ${id}\` in another terminal.` }
    case "needs-address":
      return { kind: "stay", note: "`hermes model`, in another terminal, asks for the address of the server." }
    case "needs-variable":
      return { kind: "stay", note: asSentence(missing.message) }
    default:
      return assertNever(missing)
  }
}

/** A provider that needs no key, such as a local server. */
function currentProvider({ provider, model }: NonNullable<ModelListOptions["current"]>): Choice<ModelChoice> {
  return {
    value: { kind: "provider", provider },
    label: provider,
    details: [model, ""],
    isCurrent: true,
    group: "Ready",
  }
}

/** Asks for a key, and tries it. It is stored with the choice of a model, not before. */
function keyOfProvider(
  provider: UnconnectedProvider & { readonly variable: string },
  options: ModelListOptions,
  mode: string | undefined,
): ChoiceList<ModelChoice> {
  const { name, variable, signupUrl } = provider
  return {
    title: `Key for ${name}`,
    hint: `${signupUrl === undefined ? "" : `Create one at ${signupUrl}. `}It is tried now, and stored in .env as ${variable}`,
    emptyText: "Paste the key. It is not shown.",
    isSecret: true,
    load: () => Promise.resolve({ choices: [] }),
    freeEntry: (key) => ({ kind: "key", key }),
    select: async (value, { signal }) => {
      if (value.kind !== "key") return { kind: "done" }
      const secret = { variable, key: value.key.trim() }
      const checked = await checkProviderKey(await loadHome(options.context), provider, { secret, signal })
      if (!checked.ok) return { kind: "stay", note: checked.error }
      const opened =
        checked.value === undefined ? { id: provider.id, secret } : { id: provider.id, secret, note: checked.value }
      return { kind: "open", list: modelsOfProvider(opened, options, mode) }
    },
  }
}

interface OpenedProvider {
  readonly id: string
  /** A new key, which is not stored yet. */
  readonly secret?: ProviderSecret
  /** A sentence about the key. */
  readonly note?: string
}

function modelsOfProvider(
  { id: provider, secret, note }: OpenedProvider,
  { context, current }: ModelListOptions,
  mode: string | undefined,
): ChoiceList<ModelChoice> {
  const home = async () => {
    const stored = await loadHome(context)
    return secret === undefined ? stored : withProviderKey(stored, secret)
  }
  const choice = (model: string): ModelChoice => ({
    kind: "model",
    provider,
    model,
    ...(secret === undefined ? {} : { secret }),
  })
  const offer = async (prefer: "cache" | "endpoint", signal: AbortSignal) =>
    await listOfferedModels(await home(), {
      provider: { id: provider },
      prefer,
      version: context.version,
      signal,
    })
  return {
    title: `Models of ${provider}`,
    hint: "Enter uses it",
    emptyText: `No list of models is known for ${provider}. Type the name of one.`,
    modes: modesFor(mode),
    load: async (signal) => {
      const { models, problem } = await offer("cache", signal)
      const choices = models.map((model) =>
        modelChoice(model, choice(model.id), provider === current?.provider && model.id === current.model),
      )
      const notes = [note ?? "", problem === undefined ? "" : `${provider} ${problem}. This list may be old.`]
      const shown = notes.filter((text) => text !== "").join(" ")
      return shown === "" ? { choices } : { choices, note: shown }
    },
    freeEntry: choice,
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
  value: ModelChoice,
  isCurrent: boolean,
): Choice<ModelChoice> {
  return {
    value,
    label: id,
    details: [
      contextLength === undefined ? "" : `${compactCount(contextLength)} context`,
      price === undefined ? "" : `${price} per million`,
      priceWarning === undefined ? "" : "expensive",
    ],
    isCurrent,
  }
}
