import { chooseModelFor } from "../../app/services/model-sources.ts"
import { assertNever } from "../../base/assert-never.ts"
import { stringField } from "../../base/json.ts"
import { asSentence } from "../../base/sentence.ts"
import { explainTransportError } from "../../llm/failure/failure-message.ts"
import { storeList } from "../../llm/catalog/model-list-cache.ts"
import { isKeyProblem, type ListedModel, type ModelListFailure } from "../../llm/catalog/model-list.ts"
import { requestListOf } from "../../llm/catalog/refresh-model-list.ts"
import { isLocalAddress } from "../../llm/local/local-address.ts"
import { identifyServer } from "../../llm/local/local-servers.ts"
import { CUSTOM_PROVIDER, PROVIDERS } from "../../llm/providers.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** A server with an OpenAI-compatible API, for example Ollama, LM Studio, vLLM or llama.cpp, and the models that it lists. */
export interface ModelServer {
  /** The base URL of its API: the typed address, or the one below it that has the list. */
  readonly baseUrl: string
  readonly models: readonly ListedModel[]
  /** It runs on this machine or the local network. */
  readonly isLocal: boolean
}

export type ModelServerReply =
  | { readonly kind: "models"; readonly server: ModelServer }
  /** The server refuses requests without a key, or the key that was sent. The message is a sentence. */
  | { readonly kind: "needs-key"; readonly message: string }
  /** The message says why, in one or more sentences. */
  | { readonly kind: "failed"; readonly message: string }

/**
 * Asks the server at a typed address (see `typedServerAddress`) for its models. Without `key`, only a key that the settings combine with
 * this address is sent.
 */
export async function askModelServer(
  home: LoadedHome,
  address: string,
  options: { readonly key?: string; readonly version: string; readonly signal: AbortSignal },
): Promise<ModelServerReply> {
  let failure: ModelListFailure | undefined
  for (const baseUrl of candidates(address)) {
    const selection = { provider: CUSTOM_PROVIDER.id, model: "any", baseUrl }
    const chosen = chooseModelFor(home, options.key === undefined ? selection : { ...selection, apiKey: options.key })
    if (!chosen.ok) return { kind: "failed", message: asSentence(chosen.error.message) }
    const reply = await requestListOf(chosen.value, { ...home, ...options })
    if (reply.kind === "listed") {
      cacheList(home, baseUrl, reply.models)
      return await listed(baseUrl, reply.models, options)
    }
    if (failure === undefined || needsKey(reply)) failure = reply
    if (needsKey(reply) || reply.kind === "no-reply") break
  }
  return failureOf(address, failure, options)
}

/** The provider that the table or the settings have at this address; undefined for any other server. */
export function providerAtAddress({ config }: LoadedHome, address: string): string | undefined {
  const own = Object.entries(config.get("providers")).map(([id, settings]) => ({
    id,
    baseUrl: stringField(settings, "base_url") ?? "",
  }))
  const known = [...own, ...PROVIDERS].find(({ baseUrl }) => baseUrl.replace(/\/+$/u, "") === address)
  return known?.id
}

/** `/model NAME` finds the model in the cached list. */
function cacheList({ home, clock }: LoadedHome, baseUrl: string, models: readonly ListedModel[]): void {
  try {
    storeList(home, baseUrl, { models, fetchedAt: clock.now() })
  } catch {
    // In a read-only home the list is requested again when it is needed.
  }
}

/** Servers have their API below `/v1`, which users leave out. */
function candidates(address: string): readonly string[] {
  const url = new URL(address)
  if (/\/v\d+[a-z]*$/u.test(url.pathname)) return [address]
  const versioned = `${address}/v1`
  return url.pathname === "/" ? [versioned, address] : [address, versioned]
}

function needsKey(reply: ModelListFailure): boolean {
  return reply.kind === "status" && isKeyProblem(reply.status)
}

async function listed(
  baseUrl: string,
  models: readonly ListedModel[],
  { key, signal }: { readonly key?: string; readonly signal: AbortSignal },
): Promise<ModelServerReply> {
  const isLocal = isLocalAddress(baseUrl)
  // Only some servers report the context window in the list; which models are for embeddings is not in it either.
  const options = key === undefined ? { signal } : { signal, key }
  const identified = isLocal ? await identifyServer(baseUrl, options) : undefined
  const detailed = identified === undefined || identified.models.length === 0 ? models : identified.models
  if (detailed.length > 0) return { kind: "models", server: { baseUrl, models: detailed, isLocal } }
  return { kind: "failed", message: `${baseUrl} responds, but has no models. Download or load one there first.` }
}

function failureOf(
  address: string,
  reply: ModelListFailure | undefined,
  { key }: { readonly key?: string },
): ModelServerReply {
  const { origin } = new URL(address)
  if (reply === undefined) return { kind: "failed", message: `${address} cannot be asked for its models.` }
  switch (reply.kind) {
    case "status":
      if (isKeyProblem(reply.status)) {
        const message = key === undefined ? `${origin} needs a key.` : `${origin} refuses the key.`
        return { kind: "needs-key", message }
      }
      return {
        kind: "failed",
        message: `${origin} responds with HTTP ${reply.status}, not with a list of models. ${CHECK}`,
      }
    case "not-a-list":
      return { kind: "failed", message: `${origin} responds, but not like a model server. ${CHECK}` }
    case "no-reply":
      return { kind: "failed", message: noReply(origin, reply) }
    case "not-sent":
      return { kind: "failed", message: `${origin} ${reply.reason}.` }
    default:
      return assertNever(reply)
  }
}

const CHECK = "Check the address: it is the base URL of an OpenAI-compatible API, and usually ends in /v1."

function noReply(
  origin: string,
  { code, reason }: { readonly code: string | undefined; readonly reason: string },
): string {
  switch (code) {
    case "ECONNREFUSED":
      return `Nothing listens at ${origin}. Start the server, or correct the host and port.`
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `The host of ${origin} was not found. Check its name and the network connection.`
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
      return `${origin} does not accept https. Try the address with http://.`
    default:
      return code === undefined
        ? `${origin} ${reason}.`
        : `${origin} cannot be reached: ${explainTransportError(reason, [code])}.`
  }
}
