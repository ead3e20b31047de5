import type { Clock } from "../../base/clock.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"

/** Credentials for AWS. `source` says where they were found; it never contains the secret. */
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
  /** Epoch milliseconds; absent for keys that do not expire. */
  readonly expiresAt?: number
  readonly source: string
}

export interface AwsCredentialOptions {
  readonly environment: Environment
  readonly userHome: string
  readonly clock: Pick<Clock, "now">
  readonly signal: AbortSignal
  /** Sends small requests (container and instance metadata, STS). Throws when there is no response or the signal aborts. */
  readonly fetchText: FetchText
  /** Runs the program of `credential_process`; absent when programs may not be started. */
  readonly runProgram?: RunProgram | undefined
}

/** Runs a program and returns its output. The failure text ends a sentence that begins with its name. Throws only on abort. */
export type RunProgram = (argv: readonly string[], options: { readonly signal: AbortSignal }) => Promise<Result<string>>

/** Creates keys from the fields of a response; undefined when a half of the key pair is missing. */
export function createAwsKeys(found: {
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

/** A profile of the AWS configuration files with its fields. */
export interface AwsProfile {
  readonly name: string
  readonly fields: ReadonlyMap<string, string>
}
