import { diffRows } from "../render/diff-rows.ts"
import { markdownRows } from "../render/markdown-stream.ts"
import { plainPreview, type RenderPreview } from "./preview-pane.ts"

/** Previews with the colours of the transcript. */
export const renderPreview: RenderPreview = (preview, view) => {
  switch (preview.kind) {
    case "diff":
      return diffRows(preview.text, { ...view, maxFiles: MAX_FILES, maxLines: MAX_LINES })
    case "markdown":
      return markdownRows(preview.text, view)
    case "text":
      return plainPreview(preview, view)
    default:
      return preview.kind satisfies never
  }
}

const MAX_FILES = 50
const MAX_LINES = 1000
