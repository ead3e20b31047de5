import { writeFileSync } from "node:fs"
import { join } from "node:path"

import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client"

import { assertNever } from "../../base/assert-never.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { ellipsize } from "../../base/text.ts"
import type { Part } from "../../protocol/message.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import { wrapUntrusted } from "../../toolkit/untrusted.ts"

export interface ResultOptions {
  /** The tool as the model calls it. */
  readonly tool: string
  /** Where images and sounds are saved. */
  readonly mediaDirectory: string
  readonly redact: (text: string) => string
}

const MAX_IMAGES = 5
const MAX_IMAGE_BYTES = 20_000_000
const MAX_TEXT_CHARS = 100_000
const MAX_ERROR_CHARS = 2000

/** The answer of a server as the result of a tool call. Images go to the model as images; other files are saved. */
export function toolResultOf(answer: CallToolResult, options: ResultOptions): ToolResult {
  const parts = answer.content.map((block) => readBlock(block, options))
  const text = parts.flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n")
  const images = parts.flatMap(({ image }) => image ?? []).slice(0, MAX_IMAGES)
  if (answer.isError === true) {
    const error = ellipsize(options.redact(text === "" ? "the tool failed without a message" : text), MAX_ERROR_CHARS)
    return { content: { error }, summary: firstLine(error) }
  }
  const structured = structuredOf(answer)
  const content = { result: text, ...structured }
  const summary =
    text === ""
      ? images.length === 0
        ? "done"
        : `${images.length} image${images.length === 1 ? "" : "s"}`
      : firstLine(text)
  if (images.length === 0) return { content, summary }
  // A result with images bypasses the limit and the label for text from outside, so both are applied here.
  const label = wrapUntrusted(ellipsize(JSON.stringify(content), MAX_TEXT_CHARS), {
    tool: options.tool,
    provenance: "mcp",
  })
  return {
    content: { _multimodal: true, content: [{ type: "text", text: label }, ...images], text_summary: label },
    summary,
  }
}

function structuredOf({ structuredContent }: CallToolResult): { readonly structuredContent?: unknown } {
  return structuredContent === undefined ? {} : { structuredContent }
}

interface ReadBlock {
  readonly text?: string
  readonly image?: readonly Part[]
}

function readBlock(block: ContentBlock, options: ResultOptions): ReadBlock {
  switch (block.type) {
    case "text":
      return { text: block.text }
    case "image": {
      const saved = saveMedia(block, options)
      if (saved === undefined) return { text: `[image of type ${block.mimeType} could not be read]` }
      const image: Part = { type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data}` } }
      return { text: `MEDIA:${saved}`, image: [image] }
    }
    case "audio": {
      const saved = saveMedia(block, options)
      return { text: saved === undefined ? `[sound of type ${block.mimeType} could not be read]` : `MEDIA:${saved}` }
    }
    case "resource_link":
      return {
        text: `[resource ${block.name}: ${block.uri}${block.description === undefined ? "" : `, ${block.description}`}]`,
      }
    case "resource": {
      const { resource } = block
      if ("text" in resource) return { text: `[resource ${resource.uri}]\n${resource.text}` }
      const mimeType = resource.mimeType ?? "application/octet-stream"
      const saved = saveMedia({ data: resource.blob, mimeType }, options)
      return { text: `[resource ${resource.uri}] ${saved === undefined ? "could not be read" : `MEDIA:${saved}`}` }
    }
    default:
      return assertNever(block)
  }
}

function saveMedia(
  { data, mimeType }: { readonly data: string; readonly mimeType: string },
  { mediaDirectory }: ResultOptions,
): string | undefined {
  const bytes = Buffer.from(data, "base64")
  if (bytes.length === 0 || bytes.length > MAX_IMAGE_BYTES) return undefined
  const extension = (/^[a-z]+\/([a-z0-9]+)/u.exec(mimeType.toLowerCase())?.[1] ?? "bin").slice(0, 8)
  const path = join(mediaDirectory, `mcp-${randomHex(8)}.${extension}`)
  try {
    makeDirectories(mediaDirectory)
    writeFileSync(path, bytes, { mode: 0o600 })
  } catch {
    // The text says that it could not be read; a full disk must not fail the call.
    return undefined
  }
  return path
}

function firstLine(text: string): string {
  return ellipsize(text.split("\n").find((line) => line.trim() !== "") ?? "", 200)
}

/** Contents of a resource or prompt as one text. */
export function textOfBlocks(blocks: readonly ContentBlock[], options: ResultOptions): string {
  return blocks.flatMap((block) => readBlock(block, options).text ?? []).join("\n")
}
