import type { WireName } from "./model.ts"

/** A company or service that sells access to models. `providers.ts` has one entry for each; everything else is derived. */
export interface Provider {
  readonly id: string
  readonly aliases: readonly string[]
  readonly name: string
  /** Environment variables that may hold the key, in order. */
  readonly keyVariables: readonly string[]
  /** Environment variable that overrides `baseUrl`. */
  readonly baseUrlVariable?: string
  readonly baseUrl: string
  /** The default wire; `detect-wire.ts` may choose another for an address or model. */
  readonly wire: WireName
  readonly defaultModel: string
  /** Its models report a wrong name about themselves, so the system prompt states the real one. */
  readonly misreportsModel?: true
  /** Works without a key. */
  readonly keyOptional?: boolean
  readonly authType: AuthType
  /** The cloud whose account decides about the address; see `cloud-address.ts`. */
  readonly cloud?: "aws" | "azure" | "google"
  /** The header that Chat Completions and Responses requests carry the key in; `authorization` as a bearer token by default. */
  readonly keyHeader?: string
  /** Environment variable that names the default model. */
  readonly modelVariable?: string
  /** Never selected automatically, even when its key is set. */
  readonly neverAutomatic?: boolean
  /** Sells the models of many vendors, named `vendor/model`. */
  readonly aggregator?: boolean
  /** The prefix that aggregators put before this vendor's models; removed in requests to the vendor itself. */
  readonly vendor?: string
  /** A small, cheap model for auxiliary tasks such as titles and summaries. */
  readonly defaultAuxModel?: string
  /** The output limit to send when none is configured. */
  readonly defaultMaxTokens?: number
  /** Sent with every request unless the settings override them. Names are lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** The page where users create a key. */
  readonly signupUrl?: string
}

/** `aws_sdk` and `google_adc`: the credentials of the cloud's own tools. */
type AuthType =
  | "api_key"
  | "oauth_device"
  | "oauth_external"
  | "aws_sdk"
  | "google_adc"
  | "copilot"
  | "external_process"
  | "none"

/** True when requests are signed with the cloud account of the machine, so that there is no key to configure. */
export function usesCloudIdentity({ authType }: Pick<Provider, "authType">): boolean {
  return authType === "aws_sdk" || authType === "google_adc"
}
