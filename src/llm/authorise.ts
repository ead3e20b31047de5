import { assertNever } from "../base/assert-never.ts"
import type { Clock } from "../base/clock.ts"
import { ok } from "../base/result.ts"
import type { Environment } from "../config/environment.ts"
import type { AwsCredentials, RunProgram } from "./aws/identity.ts"
import type { WireName } from "./model.ts"
import type { Provider } from "./provider.ts"
import { findProvider } from "./providers.ts"
import type { AuthorisationHeaders, Route, RequestToAuthorise } from "./route.ts"
import type { WireEndpoint } from "./wire/wire.ts"

interface AuthoriseOptions {
  readonly environment: Environment
  readonly userHome: string
  readonly clock: Clock
  readonly awsRegion: string
  readonly runProgram?: RunProgram
  /** Receives temporary credentials, so that they are redacted from logs and events. */
  readonly registerSecrets?: (values: readonly string[]) => void
}

/** Creates the function that adds a wire's authentication headers to a request. */
export function createAuthoriser(
  wire: Exclude<WireName, "in-process">,
  endpoint: WireEndpoint,
  options: AuthoriseOptions,
): Route["authorise"] {
  const provider = findProvider(endpoint.provider)
  if (provider?.authType === "google_adc") return googleAuthoriser(options)
  switch (wire) {
    case "chat_completions":
    case "codex_responses":
      return (credential) =>
        Promise.resolve(ok(credential === undefined ? {} : keyHeaders(provider, credential.secret)))
    case "gemini_native":
      return (credential) =>
        Promise.resolve(ok(credential === undefined ? {} : { "x-goog-api-key": credential.secret }))
    case "anthropic_messages":
      return async (credential) => {
        if (credential === undefined) return ok({})
        const { anthropicCredentialHeaders } = await import("./wire/anthropic-messages/wire.ts")
        return ok(anthropicCredentialHeaders(endpoint, credential.secret, { oauth: credential.kind === "oauth" }))
      }
    case "bedrock_converse":
      return awsSigner(endpoint, options)
    default:
      return assertNever(wire)
  }
}

/** The headers for a key on Chat Completions and Responses. */
export function keyHeaders(provider: Pick<Provider, "keyHeader"> | undefined, key: string): Record<string, string> {
  return provider?.keyHeader === undefined ? { authorization: `Bearer ${key}` } : { [provider.keyHeader]: key }
}

/** Tokens of a Google account are valid for an hour and cost a request, so the current one is kept until it nearly expires. */
function googleAuthoriser(options: AuthoriseOptions): Route["authorise"] {
  let cached: { readonly token: string; readonly expiresAt: number } | undefined
  return async (credential, request) => {
    if (credential !== undefined) return ok({ authorization: `Bearer ${credential.secret}` })
    if (cached === undefined || cached.expiresAt <= options.clock.now() + EXPIRY_MARGIN_MS) {
      const [{ requestGoogleToken }, { createFetchText }] = await Promise.all([
        import("./google/access-token.ts"),
        import("./aws/fetch-text.ts"),
      ])
      const fetchText = createFetchText(options.environment)
      const found = await requestGoogleToken({ ...options, signal: request.signal, fetchText })
      if (!found.ok) return found
      cached = found.value
      options.registerSecrets?.([cached.token])
    }
    return ok({ authorization: `Bearer ${cached.token}` })
  }
}

/** Temporary credentials are renewed this long before they expire. */
const EXPIRY_MARGIN_MS = 5 * 60_000

/** Resolving AWS credentials may call other services or run a program, so the result is cached until it nearly expires. */
function awsSigner(endpoint: WireEndpoint, options: AuthoriseOptions): Route["authorise"] {
  let cached: AwsCredentials | undefined
  return async (_credential, request) => {
    const valid = cached?.kind !== "keys" || (cached.expiresAt ?? Infinity) > options.clock.now() + EXPIRY_MARGIN_MS
    if (cached === undefined || !valid) {
      const [{ resolveAwsCredentials }, { createFetchText }] = await Promise.all([
        import("./aws/credentials.ts"),
        import("./aws/fetch-text.ts"),
      ])
      const fetchText = createFetchText(options.environment)
      const found = await resolveAwsCredentials({ ...options, signal: request.signal, fetchText })
      if (!found.ok) return found
      cached = found.value
      options.registerSecrets?.(secretsOf(cached))
    }
    return await signForAws(request, endpoint, { ...options, credentials: cached })
  }
}

function secretsOf(credentials: AwsCredentials): readonly string[] {
  if (credentials.kind === "bearer") return [credentials.token]
  return [credentials.secretAccessKey, credentials.sessionToken ?? ""]
}

async function signForAws(
  request: RequestToAuthorise,
  endpoint: WireEndpoint,
  options: AuthoriseOptions & { readonly credentials: AwsCredentials },
): Promise<AuthorisationHeaders> {
  const { environment, userHome, clock, credentials } = options
  const [{ resolveAwsRegion }, { signRequest }] = await Promise.all([
    import("./aws/region.ts"),
    import("./aws/sign.ts"),
  ])
  if (credentials.kind === "bearer") return ok({ authorization: `Bearer ${credentials.token}` })
  const region = resolveAwsRegion({ environment, userHome, host: endpoint.host, configured: options.awsRegion })
  return ok(
    signRequest({
      method: "POST",
      url: new URL(`${endpoint.baseUrl}${request.path}`),
      headers: request.headers,
      body: request.body,
      credentials,
      region,
      service: "bedrock",
      now: clock.now(),
    }),
  )
}
