import type { UnconnectedProvider } from "../../admin/models/connect-provider.ts"
import type { ProviderSecret } from "../../admin/models/store-provider-key.ts"

/** A provider to open or to connect, or a model to use. */
export type ModelChoice =
  | { readonly kind: "provider"; readonly provider: string }
  | { readonly kind: "unconnected"; readonly provider: UnconnectedProvider }
  /** What the user typed as the address of a server. */
  | { readonly kind: "address"; readonly address: string }
  /** What the user typed as the key of a provider or a server. */
  | { readonly kind: "key"; readonly key: string }
  /**
   * A typed model without a provider belongs to the one in use, or to the one that has it. The secret is a new key of the provider,
   * which the caller stores.
   */
  | {
      readonly kind: "model"
      readonly provider: string | undefined
      readonly model: string
      readonly secret?: ProviderSecret
      /** The model is one of this server, which is not in the settings. */
      readonly server?: ChosenServer
    }

/** The server of a chosen model. The key is one that the user typed for it. */
export interface ChosenServer {
  readonly baseUrl: string
  readonly key?: string
  readonly contextLength?: number
  readonly isLocal: boolean
}

export const THIS_SESSION = "this session only"
export const LATER_SESSIONS = "also the default for later sessions"

/** How long a chosen model is used; Tab switches between them. */
export function modesFor(mode: string | undefined): readonly string[] {
  return mode === LATER_SESSIONS ? [LATER_SESSIONS, THIS_SESSION] : [THIS_SESSION, LATER_SESSIONS]
}
