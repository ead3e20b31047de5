import type { AttachedImage } from "../../app/services/attached-image.ts"
import { isImagePath } from "../../app/services/attached-image.ts"
import { deleteRange } from "../../terminal/editor/draft.ts"
import type { Draft } from "../../terminal/editor/draft.ts"
import type { Editing } from "./editing.ts"
import type { EditorOptions } from "./editor-options.ts"
import { pastedText } from "./pasted-text.ts"

/** What is pasted or dropped into a draft: text, and images that are attached to it. */
export interface PasteControl {
  readonly images: readonly AttachedImage[]
  attach(image: AttachedImage): void
  removeLastImage(): void
  /** Removes and returns the images. */
  takeImages(): readonly AttachedImage[]
  /** Inserts the text; a long one is saved from this many newlines on. The path of an image attaches it. */
  insert(text: string, newlines: number): void
}

export function createPasteControl({
  editing,
  options,
  hint,
}: {
  readonly editing: Pick<Editing, "draft" | "insert" | "change">
  readonly options: () => Pick<EditorOptions, "pastes" | "readImage" | "changed">
  readonly hint: (text: string) => void
}): PasteControl {
  let images: readonly AttachedImage[] = []
  const attach = (image: AttachedImage): void => {
    images = [...images, image]
  }
  /** The path stays in the draft if it is no image. */
  const attachFrom = (path: string): void => {
    options()
      .readImage(path)
      .then(
        (image) => {
          if (!image.ok) return
          const start = editing.draft.text.lastIndexOf(path)
          if (start === -1) return
          editing.change(withoutPart(editing.draft, start, start + path.length))
          attach(image.value)
          options().changed()
        },
        (error: unknown) => {
          hint(`The image was not attached: ${String(error)}`)
          options().changed()
        },
      )
  }
  return {
    get images() {
      return images
    },
    attach,
    removeLastImage: () => {
      images = images.slice(0, -1)
    },
    takeImages: () => {
      const taken = images
      images = []
      return taken
    },
    insert: (text, newlines) => {
      if (isImagePath(text.trim())) attachFrom(text.trim())
      const { inserted, problem } = pastedText(text, editing.draft, { pastes: options().pastes, newlines })
      editing.insert(inserted)
      if (problem !== undefined) hint(problem)
    },
  }
}

/** Removes a part; the cursor stays between the same characters. */
function withoutPart(draft: Draft, from: number, to: number): Draft {
  const rest = deleteRange(draft, from, to)
  return draft.cursor <= from
    ? { ...rest, cursor: draft.cursor }
    : { ...rest, cursor: Math.max(rest.cursor, draft.cursor - (to - from)) }
}
