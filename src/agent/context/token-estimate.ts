import { foldGrowingList } from "../../base/fold-growing-list.ts"
import { charCount } from "../../base/char-count.ts"
import type { AssistantMessage, Message, Part } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"

/** Estimates tokens without a tokenizer. Each message is measured once, because messages never change. */
export interface Estimator {
  text(text: string): number
  messages(messages: readonly Message[]): number
  /** The same without images, whose real size is between a tenth and twice of the assumed one. */
  textOnly(messages: readonly Message[]): number
  request(request: {
    readonly system: string
    readonly messages: readonly Message[]
    readonly tools: readonly ToolDefinition[]
  }): number
  /** One message when selecting the tail: each has a fixed cost besides its text. */
  tailMessage(message: Message): number
}

const CHARS_PER_TOKEN = 4
const IMAGE_TOKENS = 1500
const TAIL_IMAGE_TOKENS = 1600
const TAIL_MESSAGE_TOKENS = 10

export function createEstimator(): Estimator {
  const measured = new WeakMap<Message, Measure>()
  const toolTokens = new WeakMap<readonly ToolDefinition[], number>()

  const measureOnce = (message: Message): Measure => {
    const known = measured.get(message)
    if (known !== undefined) return known
    const measure = measureMessage(message)
    measured.set(message, measure)
    return measure
  }

  const toolTokensOnce = (tools: readonly ToolDefinition[]): number => {
    const known = toolTokens.get(tools)
    if (known !== undefined) return known
    const tokens = tools.length === 0 ? 0 : estimateText(JSON.stringify(tools))
    toolTokens.set(tools, tokens)
    return tokens
  }

  const sizeOf = foldGrowingList(
    () => ({ chars: 0, images: 0 }),
    (size, message: Message) => {
      const measure = measureOnce(message)
      size.chars += measure.chars
      size.images += measure.images
    },
  )

  const estimateMessages = (messages: readonly Message[]): number => {
    const { chars, images } = sizeOf(messages)
    return Math.ceil(chars / CHARS_PER_TOKEN) + images * IMAGE_TOKENS
  }

  return {
    text: estimateText,
    messages: estimateMessages,
    textOnly: (messages) => Math.ceil(sizeOf(messages).chars / CHARS_PER_TOKEN),
    request: ({ system, messages, tools }) => estimateMessages(messages) + estimateText(system) + toolTokensOnce(tools),
    tailMessage: (message) => {
      const { contentChars, argumentTokens, images } = measureOnce(message)
      return (
        Math.floor(contentChars / CHARS_PER_TOKEN) + TAIL_MESSAGE_TOKENS + argumentTokens + images * TAIL_IMAGE_TOKENS
      )
    },
  }
}

function estimateText(text: string): number {
  return Math.ceil(charCount(text) / CHARS_PER_TOKEN)
}

interface Measure {
  /** Everything that is sent. */
  readonly chars: number
  readonly contentChars: number
  readonly argumentTokens: number
  readonly images: number
}

function measureMessage(message: Message): Measure {
  const parts = partsOf(message.content)
  const contentChars =
    parts.reduce((sum, part) => sum + (part.type === "text" ? charCount(part.text) : 0), 0) +
    (message.role === "system" || message.injected === undefined ? 0 : charCount(message.injected))
  const calls = message.role === "assistant" ? (message.tool_calls ?? []) : []
  return {
    chars:
      message.role.length +
      contentChars +
      (calls.length === 0 ? 0 : charCount(JSON.stringify(calls))) +
      (message.role === "assistant" ? carrierChars(message) : 0),
    contentChars,
    argumentTokens: calls.reduce(
      (sum, call) => sum + Math.floor(charCount(call.function.arguments) / CHARS_PER_TOKEN),
      0,
    ),
    images: parts.filter((part) => part.type === "image_url").length,
  }
}

/** Carriers that are sent instead of the text (`codex_message_items`) or of another carrier (content blocks) are not counted twice. */
function carrierChars(message: AssistantMessage): number {
  const reasoning = message.reasoning_details ?? message.anthropic_content_blocks
  return (
    charCount(message.reasoning_content ?? "") +
    (reasoning === undefined ? 0 : charCount(JSON.stringify(reasoning))) +
    (message.codex_reasoning_items === undefined ? 0 : charCount(JSON.stringify(message.codex_reasoning_items)))
  )
}

function partsOf(content: Message["content"]): readonly Part[] {
  if (content === null) return []
  return typeof content === "string" ? [{ type: "text", text: content }] : content
}
