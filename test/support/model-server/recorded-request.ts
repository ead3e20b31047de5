import type { WireName } from "./wire.ts"

/** A model request as it arrived. */
export interface RecordedRequest {
  readonly wire: WireName
  readonly method: string
  /** With the query string. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawBody: string
  /** The parsed JSON; undefined when the body is not JSON. */
  readonly body: unknown
  /** Time of arrival in milliseconds since the epoch. */
  readonly at: number
  readonly outcome: Promise<ResponseOutcome>
}

/** How a response ended: `sent` completely, `cut` by the script, `left` by the client, or `closed` with the server. */
export type ResponseOutcome = "sent" | "cut" | "left" | "closed"

/** The content of a request, independent of the wire format. */
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
  /** The id of the call, or the name of the tool for Gemini, which has no ids. */
  readonly id: string
  readonly text: string
}
