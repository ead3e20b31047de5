/**
 * The one form of a conversation inside Hermes. Field names are snake_case because this shape goes to disk and, with
 * provider carriers removed, to Chat Completions servers. Messages are immutable: wires cache their encoded bytes by identity.
 */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

export interface SystemMessage {
  readonly role: "system"
  readonly content: string
}

export interface UserMessage extends MessageExtras {
  readonly role: "user"
  readonly content: string | readonly Part[]
  readonly timestamp?: number
}

export interface AssistantMessage extends MessageExtras, ReasoningCarriers {
  readonly role: "assistant"
  readonly content: string | readonly Part[] | null
  readonly tool_calls?: readonly ToolCall[]
  readonly finish_reason?: string
  readonly timestamp?: number
}

export interface ToolMessage extends MessageExtras {
  readonly role: "tool"
  readonly content: string | readonly Part[]
  readonly tool_call_id: string
  readonly tool_name: string
  readonly timestamp?: number
}

/** What is kept in `messages.extra`, so that a resumed session sends the same bytes. */
export interface MessageExtras {
  /** Text for the model only, sent with the message and replayed byte for byte. */
  readonly injected?: string
  /** Where the text came from (law 6). */
  readonly provenance?: Provenance
  readonly compression_priority?: "high"
  /** Holds the summary of what a compression took out; the next one builds on it. */
  readonly compressed_summary?: true
  /** Written by Hermes in the person's role; never taken for their words. */
  readonly synthetic?: Synthetic
  /** The form that is really sent when it differs from what is stored. Histories in memory hold the sent form and no `shown`. */
  readonly shown?: ShownForm
}

/** Why Hermes speaks in the person's role. `elision`: rounds were left out here. `todo`: the task list, after a compression. */
export type Synthetic = "elision" | "todo" | "summary" | "recovery" | "review" | "background" | "max_iterations"

/** What a compression made of a message without removing it. What is absent is sent as it is stored. */
export interface ShownForm {
  readonly content?: string | readonly Part[]
  /** Shortened arguments by call id. */
  readonly arguments?: Readonly<Record<string, string>>
  readonly reasoning?: "dropped"
}

/** What a provider gave beside the text. `reasoning` is for people only and never goes back on the wire. */
export interface ReasoningCarriers {
  readonly reasoning?: string
  readonly reasoning_content?: string
  readonly reasoning_details?: readonly unknown[]
  readonly codex_reasoning_items?: readonly unknown[]
  readonly codex_message_items?: readonly unknown[]
  readonly anthropic_content_blocks?: readonly unknown[]
}

export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string; readonly detail?: string } }

export interface ToolCall {
  readonly id: string
  readonly type: "function"
  /** `arguments` is the JSON text as the model wrote it (repaired and made canonical before it is stored). */
  readonly function: { readonly name: string; readonly arguments: string }
  readonly call_id?: string
  readonly response_item_id?: string
  readonly extra_content?: unknown
}

export type Provenance = "web" | "mcp" | "file" | "command" | "agent"

export type UserInput = string | readonly Part[]

export type FinishReason = "stop" | "tool_calls" | "length" | "content_filter" | "incomplete"

/** The text of a content value: parts joined by a space, as previews and titles show it. */
export function contentText(content: string | readonly Part[] | null): string {
  if (content === null) return ""
  if (typeof content === "string") return content
  return content
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join(" ")
    .trim()
}

/** Without the reasoning that goes back on the wire; `reasoning` itself is for people and stays. */
export function withoutCarriers(message: AssistantMessage): AssistantMessage {
  const {
    reasoning_content: _content,
    reasoning_details: _details,
    codex_reasoning_items: _items,
    codex_message_items: _messages,
    anthropic_content_blocks: _blocks,
    ...rest
  } = message
  return rest
}
