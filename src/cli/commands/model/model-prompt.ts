import type { LoadedHome } from "../../../admin/loaded-home.ts"
import type { OfferedModel } from "../../../admin/models/offered-models.ts"
import type { ProviderSecret } from "../../../admin/models/store-provider-key.ts"
import type { Provider } from "../../../llm/provider.ts"
import type { Terminal } from "../../../terminal/terminal.ts"

/** The home whose model is chosen, and the terminal that the questions are asked on. */
export interface ModelPrompt {
  readonly home: LoadedHome
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** Guides the user through the login at a provider and stores it. */
  readonly logIn: (provider: string) => Promise<void>
  /** A provider, or the address of a server, that the user has named already. */
  readonly from?: string
  /** The model, if the user has named it already. */
  readonly model?: string
}

/** A provider that can be used, and its models. */
export interface PreparedProvider {
  /** With the key that the user typed, if any. */
  readonly home: LoadedHome
  readonly provider: Provider
  readonly baseUrl: string | undefined
  /** Text for `model.api_key`. */
  readonly apiKey?: string
  /** The key that the user typed, to be stored with the choice. */
  readonly secret?: ProviderSecret
  readonly models: () => Promise<readonly OfferedModel[]>
  /** The server runs on this machine or the local network. */
  readonly isLocal?: boolean
}
