import { openProviderPool } from "../../app/services/model-sources.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { Credential } from "../../llm/credential.ts"
import { createAuthoriser } from "../../llm/authorise.ts"
import { modelListPath } from "../../llm/catalog/model-list.ts"
import { requestJson } from "../../llm/http/http-json.ts"
import { createRouteConnections } from "../../llm/http/route-connections.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** The credential that requests would be sent with now. */
export type ProviderCredential =
  | { readonly kind: "none needed" }
  | { readonly kind: "usable"; readonly credential: Credential }
  /** Every credential was refused or is limited. `until` is in epoch seconds, when it is known. */
  | { readonly kind: "cooldown"; readonly count: number; readonly until: number | undefined }

/** What a provider replied. `text` continues a sentence that begins with its address. */
export interface ProbeResult {
  readonly level: "ok" | "warning" | "failure"
  readonly text: string
}

/** Selects a credential as a session would. */
export async function selectCredential(home: LoadedHome, chosen: ChosenModel): Promise<ProviderCredential> {
  const { runtime, key, usesPool, poolOrigins } = chosen
  const pool = usesPool ? await openProviderPool(runtime.provider, { ...home, origins: poolOrigins }) : undefined
  if (pool === undefined) {
    if (key === undefined) return { kind: "none needed" }
    const source = runtime.credentialSource
    return { kind: "usable", credential: { id: source, label: source, secret: key, kind: "api_key", source } }
  }
  try {
    const credential = await pool.select()
    if (credential !== undefined) return { kind: "usable", credential }
    return { kind: "cooldown", count: pool.size(), until: pool.nextAvailableAt() }
  } finally {
    pool.close?.()
  }
}

const PROBE_TIMEOUT_MS = 10_000

/**
 * Sends the provider a request that costs nothing, for its model list, with the address, authentication, proxy and certificates that a
 * session would use. Ends within ten seconds.
 */
export async function probeProvider(
  home: LoadedHome,
  chosen: ChosenModel,
  options: { readonly credential: Credential | undefined; readonly signal: AbortSignal },
): Promise<ProbeResult> {
  const { runtime } = chosen
  if (runtime.wire === "in-process") return { level: "ok", text: "is part of Hermes" }
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)])
  const connections = createRouteConnections(runtime, { ...home, caBundle: chosen.caBundle })
  if (!connections.ok) return { level: "failure", text: `cannot be reached: ${connections.error}` }
  try {
    const path = modelListPath(runtime, chosen.discoverModels)
    const authorised = await authorisation(home, chosen, { ...options, path: path ?? "/", signal })
    if (!authorised.ok) return { level: "failure", text: `cannot be used: ${authorised.error}` }
    const address = chosen.usesDefaultEndpoint ? options.credential?.baseUrl : undefined
    const { status, json } = await requestJson(connections.value.to(address), {
      path: path ?? "/",
      headers: { ...authorised.value, ...chosen.headers },
      timeouts: { connectMs: PROBE_TIMEOUT_MS, idleMs: PROBE_TIMEOUT_MS },
      signal,
    })
    return path === undefined ? UNCHECKED : describeStatus(status, { isJson: json !== undefined, ...options })
  } catch (error) {
    return { level: "warning", text: `does not answer (${reason(error, signal)})` }
  } finally {
    connections.value.close()
  }
}

const UNCHECKED: ProbeResult = {
  level: "ok",
  text: "answers; it has no request that is free, so the credentials were not checked",
}

async function authorisation(
  { environment, home, clock, config }: LoadedHome,
  { runtime }: ChosenModel,
  request: { readonly credential: Credential | undefined; readonly path: string; readonly signal: AbortSignal },
): ReturnType<ReturnType<typeof createAuthoriser>> {
  const { wire, provider, baseUrl, contextLength } = runtime
  if (wire === "in-process") return { ok: true, value: {} }
  const endpoint = { provider, baseUrl, host: new URL(baseUrl).hostname.toLowerCase(), contextLength }
  const authorise = createAuthoriser(wire, endpoint, {
    environment,
    userHome: home.userHome,
    clock,
    awsRegion: config.get("bedrock.region"),
    runProgram: async (words, how) => {
      const { runHelperProgram } = await import("../../exec/helper-program.ts")
      return await runHelperProgram(words, { ...how, inherited: environment.toObject() })
    },
  })
  const { credential, path, signal } = request
  const authorised = await authorise(credential, { path, body: "", headers: {}, signal })
  if (!authorised.ok || wire !== "anthropic_messages") return authorised
  return { ok: true, value: { "anthropic-version": "2023-06-01", ...authorised.value } }
}

function describeStatus(
  status: number,
  { isJson, credential }: { readonly isJson: boolean; readonly credential: Credential | undefined },
): ProbeResult {
  if (status >= 200 && status < 300) {
    return isJson ? { level: "ok", text: "answers" } : { level: "warning", text: "answers, but not as a model server" }
  }
  // Many logins may use a model but not list them all.
  if (status === 403 && credential?.kind === "oauth") return NOT_LISTED
  if (status === 401 || status === 403) {
    return credential === undefined
      ? { level: "failure", text: "wants a key, and none is set" }
      : { level: "failure", text: "refuses the key" }
  }
  if (status === 402) return { level: "failure", text: "has no credit left for this key" }
  if (status === 404 || status === 405) return NOT_LISTED
  if (status === 429) return { level: "warning", text: "limits the rate at the moment" }
  return { level: "warning", text: `answers with code ${status}` }
}

const NOT_LISTED: ProbeResult = {
  level: "ok",
  text: "answers, but does not list its models, so the key was not checked",
}

function reason(error: unknown, signal: AbortSignal): string {
  return signal.aborted ? `no answer within ${PROBE_TIMEOUT_MS / 1000} seconds` : explainSystemError(error)
}
