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
  readonly signal: AbortSignal
  /** Small requests (metadata of container and instance, the exchange of a token). Throws when nobody answers or the signal aborts. */
  readonly fetchText: FetchText
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
