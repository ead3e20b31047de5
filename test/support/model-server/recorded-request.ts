import type { WireName } from "./wire.ts"

/** One request to the model as it arrived. */
export interface RecordedRequest {
  readonly wire: WireName
  readonly method: string
  /** With the query string. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawBody: string
  /** The parsed JSON; undefined when the body is not JSON. */
  readonly body: unknown
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly outcome: Promise<AnswerOutcome>
}

/** How an answer ended: sent in full, cut by the script, left by the client, or closed with the server. */
export type AnswerOutcome = "sent" | "cut" | "left" | "closed"

/** What a request carries, read from any wire. */
export interface RequestView {
  readonly model: string
  readonly system: string
  readonly tools: readonly string[]
  readonly messages: readonly MessageView[]
}

export interface MessageView {
  readonly role: "user" | "assistant"
  readonly text: string
  readonly calls: readonly CallView[]
  readonly results: readonly ToolResultView[]
}

export interface CallView {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

export interface ToolResultView {
  /** The id of the call; the tool's name on the one wire that knows no ids (Gemini). */
  readonly id: string
  readonly text: string
}
