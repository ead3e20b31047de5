import type { App } from "../../app/app.ts"
import type { Walls } from "../../app/session-options.ts"
import type { Environment } from "../../config/environment.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Terminal } from "../terminal.ts"
import type { ChatOptions } from "./chat-options.ts"

/** Where the conversation works. */
export interface ChatPlace {
  readonly cwd: string
  readonly walls?: Walls
  /** What the model must know of it. */
  readonly about?: string
  /** The same for the session that goes on, when there is more to say to it. */
  readonly aboutResumed?: string
  /** When all has ended. */
  leave?(): Promise<void>
}

export interface PlaceRequest {
  readonly app: App
  readonly options: ChatOptions
  readonly environment: Environment
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** The session that goes on, and where it last worked. */
  readonly resume: { readonly id: SessionId; readonly cwd: string } | undefined
}
