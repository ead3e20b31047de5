import type { Result } from "../../base/result.ts"
import type { AskPort } from "../../toolkit/ports/ask.ts"

/** What a server may ask of the session that uses it. */
export interface CallScope {
  /** The directories of the workspace. */
  roots(): readonly { readonly uri: string; readonly name: string }[]
  /** Asks the user; absent while no call of the session is running. */
  readonly ask?: AskPort["ask"]
  /** Lets the auxiliary model answer. */
  sample(request: SamplingRequest, signal: AbortSignal): Promise<Result<SamplingReply>>
}

/** A completion that a server requests, after its limits were applied. */
export interface SamplingRequest {
  readonly server: string
  /** The model of the settings; absent means the auxiliary model. */
  readonly model?: string
  readonly system?: string
  readonly messages: readonly SamplingMessage[]
  readonly tools: readonly SamplingTool[]
  readonly maxTokens: number
  readonly temperature?: number
  readonly timeoutMs: number
}

export interface SamplingMessage {
  readonly role: "user" | "assistant"
  readonly content: readonly SamplingPart[]
}

export type SamplingPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly type: "tool_result"; readonly toolUseId: string; readonly text: string }

export interface SamplingTool {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
}

export interface SamplingReply {
  readonly model: string
  readonly text: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: Record<string, unknown> }[]
}
