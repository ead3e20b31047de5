import type { AttachedImage } from "../../app/services/attached-image.ts"

/** What the user asks for with a key. Everything that only changes the draft is done by the editor. */
export type EditorAction =
  | { readonly type: "submit"; readonly text: string; readonly attachments: readonly AttachedImage[] }
  /** Replaces a message that waits; an empty text removes it. */
  | { readonly type: "edit-queued"; readonly original: string; readonly text: string }
  /** Ctrl+C, or Escape on an empty draft, which must not clear or leave anything. */
  | { readonly type: "interrupt"; readonly key: "ctrl+c" | "escape" }
  /** Escape twice on an empty draft. */
  | { readonly type: "go-back" }
  /** Ctrl+D on an empty draft. */
  | { readonly type: "leave" }
  | { readonly type: "suspend" }
  | { readonly type: "redraw" }
  | { readonly type: "external-editor" }
  | { readonly type: "toggle-tasks" }
  | { readonly type: "expand-output" }
  /** Attach the image of the clipboard, or else insert its text if that is wanted too. */
  | { readonly type: "paste-image"; readonly orText: boolean }
