import { mediaTypeOf, readImageHeader } from "../../../llm/vision/image-header.ts"
import type { FileFacts } from "../../../exec/workspace.ts"
import type { ToolContext, ToolResult } from "../../../toolkit/tool.ts"
import { failure } from "../../failure.ts"
import { checkRepetition } from "../tracking/repeated-call.ts"
import { outsideRootWarning, resolvedField } from "../paths/display-path.ts"

export interface ImageFile {
  /** As the model wrote it. */
  readonly given: string
  readonly target: string
  readonly real: string
  readonly facts: FileFacts
}

/** Limit for an image in the conversation; an image that exceeds the provider's limit is sent as a smaller copy. */
const MAX_IMAGE_BYTES = 20 * 1024 * 1024

/** The image with a description. For models without image input the caller replaces it. */
export async function readImage({ given, target, real, facts }: ImageFile, context: ToolContext): Promise<ToolResult> {
  const about = { is_image: true, file_size: facts.size, ...resolvedField(given, target) }
  if (facts.size > MAX_IMAGE_BYTES) {
    return failure(`${given} is larger than 20 MB, the limit for images; make a smaller copy and read that`, about)
  }
  const bytes = await context.workspace.files.read(target)
  const image = readImageHeader(bytes)
  if (image === undefined) {
    return failure(`${given} is not a PNG, JPEG, GIF or WebP image; convert it to PNG and read that`, about)
  }
  const repetition = checkRepetition({ signature: `image ${real}`, what: "read" }, context)
  if (repetition.kind === "blocked") return repetition.result
  const warnings = [
    repetition.kind === "warned" ? repetition.warning : undefined,
    outsideRootWarning(given, target, { workspace: context.workspace, tracker: context.ports.files }),
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
