import { oncePerObject } from "../base/once-per-object.ts"
import { withoutCarriers } from "../protocol/message.ts"
import type { Message, Part } from "../protocol/message.ts"
import type { JsonSchema } from "../protocol/tool.ts"
import type { LlmFailure } from "./failure/failure.ts"
import type { ModelRequest } from "./model.ts"
import { hasImages } from "./request-size.ts"
import { createToolImageMover } from "./vision/tool-image-mover.ts"
import { openToolLoop } from "./wire/open-tool-loop.ts"

/** What can be left out of a request when a server refuses it. */
export type Downgrade =
  | "reasoning"
  | "encrypted-reasoning"
  | "thinking-in-tool-loops"
  | "images"
  | "tool-images"
  | "schema-patterns"

/** Returns what to leave out after this failure; undefined when leaving something out would not help. */
export function downgradeFor(failure: LlmFailure, request: ModelRequest): Downgrade | undefined {
  if (failure.requiresThinking === true) return "thinking-in-tool-loops"
  return failure.refusesImages === true && hasImages(request.messages) ? "images" : DOWNGRADE_FOR[failure.reason]
}

/**
 * Returns the request without what the server has refused. The stored history does not change. A message always becomes the same
 * object, because encoded bytes are cached by identity.
 */
export function applyDowngrades(request: ModelRequest, downgrades: Iterable<Downgrade>): ModelRequest {
  return [...downgrades].reduce((current, downgrade) => APPLY[downgrade](current), request)
}

/** Returns a notice for the user; undefined when the change has no visible effect. */
export function downgradeNotice(downgrade: Downgrade, { refusesImages }: LlmFailure): string | undefined {
  switch (downgrade) {
    case "images":
      return refusesImages === true
        ? "the model does not accept images, so they are left out from now on; describe them in words, or choose a model with vision"
        : "an image is too large for the provider, so images are left out from now on; send a smaller one"
    case "tool-images":
      return "the provider does not accept images in tool results, so they are sent in a message after them"
    default:
      return undefined
  }
}

const DOWNGRADE_FOR: Partial<Record<LlmFailure["reason"], Downgrade>> = {
  thinking_signature: "reasoning",
  invalid_encrypted_content: "encrypted-reasoning",
  image_too_large: "images",
  multimodal_tool_content_unsupported: "tool-images",
  llama_cpp_grammar_pattern: "schema-patterns",
}

const APPLY: Record<Downgrade, (request: ModelRequest) => ModelRequest> = {
  reasoning: withoutReasoning,
  "encrypted-reasoning": withoutEncryptedReasoning,
  "thinking-in-tool-loops": withoutThinkingInToolLoop,
  images: withoutImages,
  "tool-images": withToolImagesAfter,
  "schema-patterns": withPlainSchemas,
}

function withoutReasoning(request: ModelRequest): ModelRequest {
  return mapMessages(request, messageWithoutReasoning)
}

const messageWithoutReasoning = oncePerObject((message: Message) =>
  message.role === "assistant" ? withoutCarriers(message) : message,
)

/** Removes only the encrypted reasoning of the Responses wire, which the server can no longer decrypt. */
function withoutEncryptedReasoning(request: ModelRequest): ModelRequest {
  return mapMessages(request, messageWithoutEncryptedReasoning)
}

const messageWithoutEncryptedReasoning = oncePerObject((message: Message): Message => {
  if (message.role !== "assistant" || message.codex_reasoning_items === undefined) return message
  const { codex_reasoning_items: _dropped, ...rest } = message
  return rest
})

function withoutThinkingInToolLoop(request: ModelRequest): ModelRequest {
  return openToolLoop(request.messages) === undefined ? request : { ...request, effort: "none" }
}

function withoutImages(request: ModelRequest): ModelRequest {
  return mapMessages(request, messageWithoutImages)
}

const messageWithoutImages = oncePerObject((message: Message): Message =>
  message.role === "system" || typeof message.content === "string" || message.content === null
    ? message
    : { ...message, content: withoutImageParts(message.content) },
)

/** Turns tool results into text and sends their images in a message after them. */
function withToolImagesAfter(request: ModelRequest): ModelRequest {
  return { ...request, messages: moveToolImages(request.messages) }
}

const moveToolImages = createToolImageMover()

/** Removes `pattern` and `format`, which grammar compilers of local servers reject. Properties with these names stay. */
function withPlainSchemas(request: ModelRequest): ModelRequest {
  return { ...request, tools: request.tools.map((tool) => ({ ...tool, parameters: plainSchema(tool.parameters) })) }
}

function mapMessages(request: ModelRequest, change: (message: Message) => Message): ModelRequest {
  return { ...request, messages: request.messages.map(change) }
}

function withoutImageParts(parts: readonly Part[]): string {
  return parts
    .map((part) => (part.type === "text" ? part.text : "[image left out: the model does not accept it]"))
    .join("\n")
}

function plainSchema(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => key !== "pattern" && key !== "format")
      .map(([key, value]) => [key, key === "properties" ? plainProperties(value) : plainValue(value)]),
  )
}

function plainProperties(properties: unknown): unknown {
  if (!isObject(properties)) return properties
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, plainValue(schema)]))
}

function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue)
  return isObject(value) ? plainSchema(value) : value
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
