import type { WireName } from "./model.ts"

/** Who sells a model, and how it is spoken to. One entry each; everything else about providers is derived from this table. */
export interface Provider {
  readonly id: string
  readonly aliases: readonly string[]
  readonly name: string
  /** Where keys are looked for, in order. */
  readonly keyVariables: readonly string[]
  /** Overrides the address. */
  readonly baseUrlVariable?: string
  readonly baseUrl: string
  /** The usual wire; address and model may decide otherwise. */
  readonly wire: WireName
  readonly defaultModel: string
  /** Its models give a wrong name when they are asked who they are. */
  readonly misreportsModel?: true
  /** A server without a key is normal. */
  readonly keyOptional?: boolean
  readonly authType: AuthType
  /** Only taken when somebody names it, however many keys are lying around. */
  readonly neverAutomatic?: boolean
  /** Sells the models of many vendors, named `vendor/model`. */
  readonly aggregator?: boolean
  /** What aggregators put before this vendor's models; removed when the vendor itself is asked. */
  readonly vendor?: string
  /** A small, cheap model for titles, summaries and the like. */
  readonly defaultAuxModel?: string
  /** Sent as output limit when nobody set one. */
  readonly defaultMaxTokens?: number
  /** `omit`: this provider refuses a temperature, so none is sent. */
  readonly fixedTemperature?: number | "omit"
  /** Sent with every request, below what the settings say. Names are lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Where a person gets a key. */
  readonly signupUrl?: string
}

type AuthType = "api_key" | "oauth_device" | "oauth_external" | "aws_sdk" | "copilot" | "external_process" | "none"
