import type { Clock } from "../../base/clock.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"

/** How a request to AWS proves who it is. `source` says where it was found, never the secret. */
export type AwsCredentials = AwsBearer | AwsKeys

export interface AwsBearer {
  readonly kind: "bearer"
  readonly token: string
  readonly source: string
}

export interface AwsKeys {
  readonly kind: "keys"
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  /** Epoch milliseconds; absent for keys that do not end. */
  readonly expiresAt?: number
  readonly source: string
}

export interface AwsCredentialOptions {
  readonly environment: Environment
  readonly userHome: string
  readonly clock: Pick<Clock, "now">
  readonly signal: AbortSignal
  /** Small requests (metadata of container and instance, the exchange of a token). Throws when nobody answers or the signal aborts. */
  readonly fetchText: FetchText
  /** Runs the program of `credential_process`; absent where no program may be started. */
  readonly runProgram?: RunProgram | undefined
}

/** What a program of the person's printed; the failure is the end of a sentence about it. Throws only when the signal aborts. */
export type RunProgram = (
  words: readonly string[],
  options: { readonly signal: AbortSignal },
) => Promise<Result<string>>

/** The fields every service answers with, under its own names for them. */
export function keysFrom(found: {
  readonly accessKeyId: string | undefined
  readonly secretAccessKey: string | undefined
  readonly sessionToken?: string | undefined
  /** Epoch milliseconds; NaN counts as none. */
  readonly expiresAt?: number | undefined
  readonly source: string
}): AwsKeys | undefined {
  const { accessKeyId, secretAccessKey, sessionToken, expiresAt, source } = found
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  return {
    kind: "keys",
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    ...(expiresAt === undefined || Number.isNaN(expiresAt) ? {} : { expiresAt }),
    source,
  }
}

export type FetchText = (
  url: string,
  options: {
    readonly method: "GET" | "PUT" | "POST"
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string
    readonly signal: AbortSignal
  },
) => Promise<{ readonly status: number; readonly body: string }>

/** A profile with its name, as the ways to its keys need it. */
export interface AwsProfile {
  readonly name: string
  readonly fields: ReadonlyMap<string, string>
}
