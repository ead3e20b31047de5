import type { FinishReason, Message, ReasoningCarriers, ToolCall } from "../protocol/message.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { Usage } from "../protocol/usage.ts"
import type { FailureReason, LlmFailure } from "./failure/failure.ts"
import type { RateLimits } from "./failure/rate-limit-headers.ts"

/** One request for one reply. Everything in it is immutable, so wires may keep encoded bytes by object identity. */
export interface ModelRequest {
  readonly model: string
  readonly system: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly maxOutputTokens?: number
  readonly temperature?: number
  /** How hard the model should think; absent leaves it to the provider. */
  readonly effort?: Effort
  /** `required`: the reply must call a tool. `none`: tools are declared but must not be called. Default `auto`. */
  readonly toolChoice?: "auto" | "required" | "none"
  /** The same for all requests of a conversation, for providers that route or cache by it. */
  readonly conversationId?: string
  /** How long the provider keeps what the cache markers mark; absent sends no markers. */
  readonly cacheTtl?: "5m" | "1h"
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const
export type Effort = (typeof EFFORTS)[number]

export function isEffort(word: string): word is Effort {
  return EFFORTS.some((effort) => effort === word)
}

/** The part of a request that the settings decide, the same for a whole session. */
export type Sampling = Pick<ModelRequest, "maxOutputTokens" | "temperature" | "effort" | "conversationId" | "cacheTtl">

/**
 * A model that can be asked. The generator yields what happens while the reply arrives and returns exactly one outcome; it
 * never throws for anything the network or the server did.
 */
export interface ModelClient {
  /** Who is asked now: the first choice, or what took its place. */
  readonly runtime: ModelRuntime
  /** What the server that is asked now last said about its limits; absent or empty where none did. */
  readonly rateLimits?: RateLimits
  /** A new turn starts: a first choice that failed gets another chance. */
  beginTurn(): void
  /** Goes on with the next fallback for the rest of the turn. A sentence that says so, or undefined when there is none left. */
  fallBack?(): Promise<string | undefined>
  /**
   * Asks who knows the window better than the guess it began with: the server nearby, or the catalogue. It costs a request or a
   * file, so it is asked before messages are given up for lack of room, and never on the way of the first request. What comes
   * of it is in `runtime` afterwards; without news nothing changes. False while the window is still a guess.
   */
  confirmWindow?(options: { readonly signal: AbortSignal }): Promise<boolean>
  /**
   * The window that Ollama gives this model when it runs; undefined where nobody else is asked and while Ollama does not know.
   * `thorough`: every server nearby is asked, not only those at Ollama's own port.
   */
  servedWindow?(options: { readonly signal: AbortSignal; readonly thorough: boolean }): Promise<number | undefined>
  stream(request: ModelRequest, options: StreamOptions): AsyncGenerator<ModelEvent, ModelOutcome, void>
  close(): void
}

export interface StreamOptions {
  readonly signal: AbortSignal
  /** A side job: who asks has a patience of its own, so a lost connection is not opened again beyond the usual attempts. */
  readonly brief?: boolean
}

/** Which model is asked, where, and how it is paid for. Another object whenever anything of it has changed. */
export interface ModelRuntime {
  readonly provider: string
  readonly model: string
  readonly wire: WireName
  readonly baseUrl: string
  readonly contextLength: number
  /** Where the key came from, for `status`; never the key. */
  readonly credentialSource: string
  readonly billingMode: "metered" | "local" | "demo"
}

export type WireName =
  | "chat_completions"
  | "anthropic_messages"
  | "codex_responses"
  | "bedrock_converse"
  | "gemini_native"
  | "in-process"

export type ModelEvent =
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  /** A tool call began to arrive; said once per call, as soon as the name is known. */
  | { readonly type: "tool-generating"; readonly tool: string }
  | {
      readonly type: "retry"
      readonly attempt: number
      readonly delayMs: number
      readonly reason: FailureReason
      readonly text: string
    }
  /** Worth knowing, not worth interrupting for. With a runtime: the server has said how much the model can really read. */
  | { readonly type: "notice"; readonly text: string; readonly runtime?: ModelRuntime }
  /** Another key or another model goes on with the same request; `runtime` is who is asked from now on. */
  | {
      readonly type: "switch"
      readonly kind: "rotate" | "fallback"
      readonly text: string
      readonly runtime: ModelRuntime
    }

export type ModelOutcome =
  | { readonly kind: "reply"; readonly reply: ModelReply }
  | { readonly kind: "failed"; readonly failure: LlmFailure }
  | { readonly kind: "aborted" }

export interface ModelReply {
  readonly content: string | null
  readonly toolCalls: readonly ToolCall[]
  readonly finishReason: FinishReason
  readonly reasoning: string | null
  /** Absent when the server sent none. */
  readonly usage?: Usage
  readonly carriers: ReasoningCarriers
  /**
   * `complete`: the server finished. `cut-text`: the stream died after visible text, which is all there is. `cut-call`: it died
   * inside a tool call; the call is not in `toolCalls` and must not run.
   */
  readonly ending: "complete" | "cut-text" | "cut-call"
}
