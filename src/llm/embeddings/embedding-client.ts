import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { isAbort } from "../../base/abort.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import { keyHeaders } from "../authorise.ts"
import type { CredentialSource } from "../credential.ts"
import { connectionSettingsFor } from "../http/connection-settings.ts"
import { openHttpConnection } from "../http/http-connection.ts"
import type { HttpConnection } from "../http/http-connection.ts"
import { requestJson } from "../http/http-json.ts"
import { isLocalAddress } from "../local/local-address.ts"
import { findProvider } from "../providers.ts"
import type { ChosenEmbeddings } from "./choose-embeddings.ts"
import type { EmbeddingRequest } from "./embedding-format.ts"

/** Computes embeddings over HTTP. */
export interface EmbeddingClient {
  /** Names the model and its dimensions. */
  readonly id: string
  /** Rejects when the server fails, and at once during the cooldown after a failure. */
  embed(
    texts: readonly string[],
    options: Pick<EmbeddingRequest, "purpose"> & { readonly signal: AbortSignal },
  ): Promise<readonly Float32Array[]>
  close(): void
}

export interface EmbeddingClientOptions {
  readonly environment: Environment
  readonly clock: Clock
  readonly log: Logger
  /** Removes secrets from the texts that are sent. */
  readonly redact: (text: string) => string
  /** Keys and logins of the provider, when there are several. */
  readonly credentials?: CredentialSource
}

const TIMEOUTS = { connectMs: 5000, firstByteMs: 30_000, idleMs: 15_000, totalMs: 60_000 }

/** After a failure nothing is requested for this long; it doubles with every further failure. */
const COOLDOWN_MS = { first: 60_000, last: 15 * 60_000 }

/** Fails with a message when the proxy or the CA bundle is misconfigured. Nothing is requested yet. */
export function createEmbeddingClient(
  embeddings: ChosenEmbeddings,
  options: EmbeddingClientOptions,
): Result<EmbeddingClient> {
  const { baseUrl, chosen, dims, format, model } = embeddings
  const url = new URL(baseUrl)
  const local = isLocalAddress(baseUrl)
  const settings = connectionSettingsFor(url, { environment: options.environment, local, caBundle: chosen.caBundle })
  if (!settings.ok) return fail(settings.error)
  const connection = openHttpConnection(url, { ...settings.value, background: true })
  const cooldown = createCooldown(options, `embeddings of ${chosen.runtime.provider}`)
  return ok({
    id: [chosen.runtime.provider, baseUrl, model, dims].join(" "),
    embed: async (texts, { purpose, signal }) => {
      if (cooldown.isActive()) throw new Error("the embeddings endpoint failed recently")
      try {
        const sent = texts.map((text) => options.redact(text))
        const body = format.body({ model, texts: sent, dims, purpose })
        const vectors = await requestVectors(connection, embeddings, { body, signal, credentials: options.credentials })
        cooldown.succeeded()
        return vectors
      } catch (error) {
        // An abort is the caller's decision and says nothing about the server.
        if (!signal.aborted && !isAbort(error)) cooldown.failed(errorMessage(error))
        throw error
      }
    },
    close: () => connection.close(),
  })
}

async function requestVectors(
  connection: HttpConnection,
  { chosen, format, model }: ChosenEmbeddings,
  request: { readonly body: unknown; readonly signal: AbortSignal; readonly credentials: CredentialSource | undefined },
): Promise<readonly Float32Array[]> {
  const key = (await request.credentials?.select())?.secret ?? chosen.key
  const authorisation =
    key === undefined
      ? {}
      : format.name === "gemini"
        ? { "x-goog-api-key": key }
        : keyHeaders(findProvider(chosen.runtime.provider), key)
  const { status, json } = await requestJson(connection, {
    path: format.path(model),
    body: request.body,
    headers: { ...chosen.headers, ...authorisation },
    timeouts: TIMEOUTS,
    signal: request.signal,
  })
  if (status !== 200) throw new Error(`the server answered with status ${status}`)
  const vectors = format.parse(json)
  if (vectors === undefined) throw new Error("the answer of the server contains no embeddings")
  return vectors.map((vector) => Float32Array.from(vector))
}

/** Keeps a server that fails from being asked again and again. Logs the first failure only. */
function createCooldown({ clock, log }: EmbeddingClientOptions, name: string) {
  let until = 0
  let failures = 0
  return {
    isActive: (): boolean => clock.now() < until,
    succeeded: (): void => {
      failures = 0
    },
    failed: (reason: string): void => {
      if (failures === 0) log.warning(`${name} are not available: ${reason}. Search uses words only until they are.`)
      until = clock.now() + Math.min(COOLDOWN_MS.first * 2 ** failures, COOLDOWN_MS.last)
      failures += 1
    },
  }
}
