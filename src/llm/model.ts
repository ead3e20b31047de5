import type { FinishReason, Message, ReasoningCarriers, ToolCall } from "../protocol/message.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { Usage } from "../protocol/usage.ts"
import type { FailureReason, LlmFailure } from "./failure/failure.ts"
import type { RateLimits } from "./failure/rate-limit-headers.ts"

/** One request for one reply. Everything in it is immutable, so wires may cache encoded bytes by object identity. */
export interface ModelRequest {
  readonly model: string
  readonly system: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly maxOutputTokens?: number
  readonly temperature?: number
  /** Reasoning effort; absent means the provider's default. */
  readonly effort?: Effort
  /** `required`: the reply must call a tool. `none`: tools are declared but must not be called. Default `auto`. */
  readonly toolChoice?: "auto" | "required" | "none"
  /** The same for all requests of a conversation, for providers that route or cache by it. */
  readonly conversationId?: string
  /** Lifetime of prompt cache entries; absent means that no cache markers are sent. */
  readonly cacheTtl?: "5m" | "1h"
}

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const
export type Effort = (typeof EFFORTS)[number]

export function isEffort(word: string): word is Effort {
  return EFFORTS.some((effort) => effort === word)
}

/** The request fields that come from the settings and stay the same for a whole session. */
export type Sampling = Pick<ModelRequest, "maxOutputTokens" | "temperature" | "effort" | "conversationId" | "cacheTtl">

/**
 * Sends requests to a model. `stream` yields events while the reply arrives and returns exactly one outcome; it never throws for
 * network or server failures.
 */
export interface ModelClient {
  /** The model in use: the primary one or the current fallback. */
  readonly runtime: ModelRuntime
  /** The last rate limits that the current server reported; absent or empty when it reported none. */
  readonly rateLimits?: RateLimits
  /** Call at the start of a turn: returns to the primary model unless it is in cooldown. */
  beginTurn(): void
  /** Switches to the next fallback for the rest of the turn. Returns a sentence about it, or undefined when none is left. */
  fallBack?(): Promise<string | undefined>
  /**
   * Replaces an estimated context window with the one that the local server or the catalogue reports, and updates `runtime`. It costs
   * a request or a file read, so call it before dropping messages for lack of room, never before the first request. Returns false
   * while the window is still an estimate.
   */
  confirmWindow?(options: { readonly signal: AbortSignal }): Promise<boolean>
  /**
   * The context window with which Ollama runs this model; undefined for other servers and while Ollama does not know it.
   * `anyPort` also queries local servers that do not use Ollama's default port.
   */
  ollamaWindow?(options: { readonly signal: AbortSignal; readonly anyPort: boolean }): Promise<number | undefined>
  stream(request: ModelRequest, options: StreamOptions): AsyncGenerator<ModelEvent, ModelOutcome, void>
  close(): void
}

export interface StreamOptions {
  readonly signal: AbortSignal
  /** An auxiliary call has its own timeout, so a lost connection gets no retries beyond the usual attempts. */
  readonly auxiliary?: boolean
}

/** The model in use, its endpoint and how it is billed. Replaced by a new object whenever anything changes. */
export interface ModelRuntime {
  readonly provider: string
  readonly model: string
  readonly wire: WireName
  readonly baseUrl: string
  readonly contextLength: number
  /** Where the key came from, for `hermes status`; never the key itself. */
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
  /** A tool call began to arrive; emitted once per call, as soon as the name is known. */
  | { readonly type: "tool-generating"; readonly tool: string }
  | {
      readonly type: "retry"
      readonly attempt: number
      readonly delayMs: number
      readonly reason: FailureReason
      readonly text: string
    }
  /** Information that needs no action. With a runtime: the server reported a different context window. */
  | { readonly type: "notice"; readonly text: string; readonly runtime?: ModelRuntime }
  /** Another credential or model continues the same request; `runtime` is the model from now on. */
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
   * `complete`: the server finished. `cut-text`: the stream broke after visible text. `cut-call`: it broke inside a tool call,
   * which is not in `toolCalls` and must not run.
   */
  readonly ending: "complete" | "cut-text" | "cut-call"
}
