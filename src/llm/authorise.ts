import { assertNever } from "../base/assert-never.ts"
import type { Clock } from "../base/clock.ts"
import { ok } from "../base/result.ts"
import type { Environment } from "../config/environment.ts"
import type { AwsCredentials, RunProgram } from "./aws/identity.ts"
import type { WireName } from "./model.ts"
import type { Proof, Route, SignedParts } from "./route.ts"
import type { WirePlace } from "./wire/wire.ts"

interface AuthoriseOptions {
  readonly environment: Environment
  readonly userHome: string
  readonly clock: Clock
  readonly awsRegion: string
  readonly runProgram?: RunProgram
  /** Told keys that were lent or renewed, so that they are masked wherever they turn up. */
  readonly learnSecrets?: (values: readonly string[]) => void
}

/** How each wire is told who asks. */
export function createAuthoriser(
  wire: Exclude<WireName, "in-process">,
  place: WirePlace,
  options: AuthoriseOptions,
): Route["authorise"] {
  switch (wire) {
    case "chat_completions":
    case "codex_responses":
      return (credential) =>
        Promise.resolve(ok(credential === undefined ? {} : { authorization: `Bearer ${credential.secret}` }))
    case "gemini_native":
      return (credential) =>
        Promise.resolve(ok(credential === undefined ? {} : { "x-goog-api-key": credential.secret }))
    case "anthropic_messages":
      return async (credential) => {
        if (credential === undefined) return ok({})
        const { anthropicCredentialHeaders } = await import("./wire/anthropic-messages.ts")
        return ok(anthropicCredentialHeaders(place, credential.secret, { oauth: credential.kind === "oauth" }))
      }
    case "bedrock_converse":
      return awsSigner(place, options)
    default:
      return assertNever(wire)
  }
}

/** So long before they end, keys that were lent are asked for again. */
const EXPIRY_MARGIN_MS = 5 * 60_000

/** Finding the keys may mean asking other services or running a program, so they are kept as long as they hold. */
function awsSigner(place: WirePlace, options: AuthoriseOptions): Route["authorise"] {
  let known: AwsCredentials | undefined
  return async (_credential, request) => {
    const holds = known?.kind !== "keys" || (known.expiresAt ?? Infinity) > options.clock.now() + EXPIRY_MARGIN_MS
    if (known === undefined || !holds) {
      const [{ resolveAwsCredentials }, { createFetchText }] = await Promise.all([
        import("./aws/credentials.ts"),
        import("./aws/fetch-text.ts"),
      ])
      const fetchText = createFetchText(options.environment)
      const found = await resolveAwsCredentials({ ...options, signal: request.signal, fetchText })
      if (!found.ok) return found
      known = found.value
      options.learnSecrets?.(secretsOf(known))
    }
    return await signForAws(request, place, { ...options, credentials: known })
  }
}

function secretsOf(credentials: AwsCredentials): readonly string[] {
  if (credentials.kind === "bearer") return [credentials.token]
  return [credentials.secretAccessKey, credentials.sessionToken ?? ""]
}

async function signForAws(
  request: SignedParts,
  place: WirePlace,
  options: AuthoriseOptions & { readonly credentials: AwsCredentials },
): Promise<Proof> {
  const { environment, userHome, clock, credentials } = options
  const [{ resolveAwsRegion }, { signRequest }] = await Promise.all([
    import("./aws/region.ts"),
    import("./aws/sign.ts"),
  ])
  if (credentials.kind === "bearer") return ok({ authorization: `Bearer ${credentials.token}` })
  const region = await resolveAwsRegion({ environment, userHome, host: place.host, configured: options.awsRegion })
  return ok(
    signRequest({
      method: "POST",
      url: new URL(`${place.baseUrl}${request.path}`),
      headers: request.headers,
      body: request.body,
      credentials,
      region,
      service: "bedrock",
      now: clock.now(),
    }),
  )
}
