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

/** Stored in `messages.extra`, so that a resumed session sends the same bytes. */
export interface MessageExtras {
  /** Text for the model only, sent with the message and replayed byte for byte. */
  readonly injected?: string
  /** Where the text came from. */
  readonly provenance?: Provenance
  readonly compression_priority?: "high"
  /** Contains the summary of messages that a compression removed; the next compression updates it. */
  readonly compressed_summary?: true
  /** What the user typed, where the message is sent in another form: with the texts that references and tokens stand for. */
  readonly typed?: string
  /** Written by Hermes in the user role; never treated as the user's words. */
  readonly synthetic?: Synthetic
  /** The form in which the message is sent, when it differs from the stored one. Histories in memory hold the sent form and no `shown`. */
  readonly shown?: SentForm
}

/**
 * Why Hermes wrote a user message. `elision`: rounds were removed here. `todo`: the task list, after a compression. `gap`: separates
 * two replies that were stored without a user message between them. `delegation`: the goal of a sub-agent, in the words of the model that
 * started it.
 */
export type Synthetic =
  | "elision"
  | "gap"
  | "todo"
  | "summary"
  | "recovery"
  | "review"
  | "background"
  | "delegation"
  | "max_iterations"

/** How the note begins that replaces the rounds which a compression removed. It can be before the text of a user message. */
export const ELISION_NOTE_START = "[LEFT OUT TO SAVE SPACE:"

/** How a compression changed a message without removing it. Absent fields are sent as they are stored. */
export interface SentForm {
  readonly content?: string | readonly Part[]
  /** Shortened arguments by call id. */
  readonly arguments?: Readonly<Record<string, string>>
  readonly reasoning?: "dropped"
}

/** What a provider returned in addition to the text and expects back in later requests. `reasoning` is for display only and never sent. */
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
  /** `arguments` is the JSON text of the model, repaired and canonical in stored messages. */
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

/** Whether the message has reasoning that is sent back to its provider. */
export function hasCarriers(message: AssistantMessage): boolean {
  return (
    message.reasoning_content !== undefined ||
    message.reasoning_details !== undefined ||
    message.codex_reasoning_items !== undefined ||
    message.codex_message_items !== undefined ||
    message.anthropic_content_blocks !== undefined
  )
}

/** Removes the reasoning that is sent back to the provider. `reasoning` itself is never sent and stays. */
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
