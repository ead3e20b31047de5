import { withoutCarriers } from "../protocol/message.ts"
import type { Message, Part } from "../protocol/message.ts"
import type { JsonSchema } from "../protocol/tool.ts"
import type { LlmFailure } from "./failure/failure.ts"
import type { ModelRequest } from "./model.ts"
import { imagesIn } from "./request-size.ts"
import { createImageMover } from "./vision/images-after-results.ts"

/** Things that can be left out of a request when a server refuses it because of them. */
export type Relief = "reasoning" | "encrypted-reasoning" | "images" | "tool-images" | "schema-patterns"

/** What to leave out after this failure; undefined when nothing of the request is to blame. */
export function reliefFor(failure: LlmFailure, request: ModelRequest): Relief | undefined {
  const seen = request.messages.some((message) => imagesIn(message) > 0)
  return failure.refusesImages === true && seen ? "images" : RELIEF_FOR[failure.reason]
}

/** The request without what this server has refused. The stored history stays as it is; only what is sent gets lighter. */
export function relieved(request: ModelRequest, reliefs: Iterable<Relief>): ModelRequest {
  return [...reliefs].reduce((lighter, relief) => RELIEVE[relief](lighter), request)
}

/** What the person should know about what is left out; undefined where it changes nothing they could see. */
export function reliefNotice(relief: Relief, { refusesImages }: LlmFailure): string | undefined {
  switch (relief) {
    case "images":
      return refusesImages === true
        ? "the model takes no images, so they are left out from here on; describe them in words, or choose a model that sees"
        : "an image is too large for the provider, so the images are left out from here on; send a smaller one to have it seen"
    case "tool-images":
      return "the provider takes no images in tool results, so they are sent after them"
    default:
      return undefined
  }
}

const RELIEF_FOR: Partial<Record<LlmFailure["reason"], Relief>> = {
  thinking_signature: "reasoning",
  invalid_encrypted_content: "encrypted-reasoning",
  image_too_large: "images",
  multimodal_tool_content_unsupported: "tool-images",
  llama_cpp_grammar_pattern: "schema-patterns",
}

const RELIEVE: Record<Relief, (request: ModelRequest) => ModelRequest> = {
  reasoning: withoutReasoning,
  "encrypted-reasoning": withoutEncryptedReasoning,
  images: withoutImages,
  "tool-images": withToolImagesAfter,
  "schema-patterns": withPlainSchemas,
}

export function withoutReasoning(request: ModelRequest): ModelRequest {
  return mapMessages(request, (message) => (message.role === "assistant" ? withoutCarriers(message) : message))
}

/** Only what belongs to the Responses wire: a server could not read its own encrypted thoughts any more. */
export function withoutEncryptedReasoning(request: ModelRequest): ModelRequest {
  return mapMessages(request, (message) => {
    if (message.role !== "assistant" || message.codex_reasoning_items === undefined) return message
    const { codex_reasoning_items: _dropped, ...rest } = message
    return rest
  })
}

export function withoutImages(request: ModelRequest): ModelRequest {
  return mapMessages(request, (message) =>
    message.role === "system" || typeof message.content === "string" || message.content === null
      ? message
      : { ...message, content: withoutImageParts(message.content) },
  )
}

/** Results of tools become text; their images follow after them. */
export function withToolImagesAfter(request: ModelRequest): ModelRequest {
  return { ...request, messages: createImageMover()(request.messages) }
}

/** Grammar compilers of local servers stumble over `pattern` and `format`; a property that is called so stays. */
export function withPlainSchemas(request: ModelRequest): ModelRequest {
  return { ...request, tools: request.tools.map((tool) => ({ ...tool, parameters: plainSchema(tool.parameters) })) }
}

function mapMessages(request: ModelRequest, change: (message: Message) => Message): ModelRequest {
  return { ...request, messages: request.messages.map(change) }
}

function withoutImageParts(parts: readonly Part[]): string {
  return parts
    .map((part) => (part.type === "text" ? part.text : "[image left out: the model does not take it]"))
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
