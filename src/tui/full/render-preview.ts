import type { RenderPreview } from "../modals/preview-pane.ts"
import { diffRows } from "../render/diff-rows.ts"
import { markdownRows } from "../render/markdown-stream.ts"
import { textRows } from "./screen-terminal.ts"

/** More than a preview of a diff can show usefully. */
const MAX_DIFF_LINES = 2000
const MAX_DIFF_FILES = 50

export const renderPreview: RenderPreview = ({ kind, text }, view) => {
  switch (kind) {
    case "diff":
      return diffRows(text, { ...view, maxLines: MAX_DIFF_LINES, maxFiles: MAX_DIFF_FILES })
    case "markdown":
      return markdownRows(text, view)
    case "text":
      return textRows(text, view.columns)
    default:
      return kind satisfies never
  }
}
