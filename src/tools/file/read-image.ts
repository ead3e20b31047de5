import { mediaTypeOf, readImageFacts } from "../../llm/vision/image-header.ts"
import type { FileFacts } from "../../exec/workspace.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { repetitionOf } from "./repeated-call.ts"
import { outsideWarning, resolvedField } from "./store-file.ts"

export interface ImageFile {
  /** As the model wrote it. */
  readonly given: string
  readonly target: string
  readonly real: string
  readonly facts: FileFacts
}

/** It is kept in the conversation, and a model can do nothing with more: what is larger than its server takes is sent as a smaller copy. */
const MAX_IMAGE_BYTES = 20 * 1024 * 1024

/** The image itself, beside what there is to say about it. What becomes of it for a model that sees none is not decided here. */
export async function readImage({ given, target, real, facts }: ImageFile, context: ToolContext): Promise<ToolResult> {
  const about = { is_image: true, file_size: facts.size, ...resolvedField(given, target) }
  if (facts.size > MAX_IMAGE_BYTES) {
    return failure(`${given} has more than the 20 MB that can be shown; make a smaller copy and read that`, about)
  }
  const bytes = await context.workspace.files.read(target)
  const image = readImageFacts(bytes)
  if (image === undefined) {
    return failure(`${given} is no PNG, JPEG, GIF or WebP image; convert it to PNG and read that`, about)
  }
  const repetition = repetitionOf({ signature: `image ${real}`, what: "read" }, context)
  if (repetition.kind === "blocked") return repetition.result
  const warnings = [
    repetition.kind === "warned" ? repetition.warning : undefined,
    outsideWarning(given, target, { workspace: context.workspace, tracker: context.ports.files }),
  ].filter((warning) => warning !== undefined)
  const { width, height } = image
  const type = mediaTypeOf(image)
  const text = JSON.stringify({
    path: given,
    ...about,
    type,
    width,
    height,
    ...(warnings.length === 0 ? {} : { _warning: warnings.join("; ") }),
  })
  const url = `data:${type};base64,${Buffer.from(bytes).toString("base64")}`
  return {
    content: {
      _multimodal: true,
      content: [
        { type: "text", text },
        { type: "image_url", image_url: { url } },
      ],
      text_summary: text,
    },
    summary: `image, ${width}×${height}`,
  }
}
