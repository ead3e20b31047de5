import type { PasteFiles } from "../../admin/editor-support/paste-files.ts"
import type { AttachedImage } from "../../app/services/attached-image.ts"
import type { Result } from "../../base/result.ts"
import type { PromptHistory } from "../prompt-history.ts"
import type { CompletionSource } from "./completion/completion-source.ts"
import type { Keymap } from "./keymap.ts"
import type { PasteLimits } from "./pasted-text.ts"

export interface EditorOptions {
  /** Submitted messages are added to it. */
  readonly history: Pick<PromptHistory, "entries" | "add">
  readonly keymap: Keymap
  readonly mode: "emacs" | "vim"
  /** Shown before the prompt; absent for the default profile. */
  readonly profile?: string
  /** The messages that wait for the end of a turn, oldest first. */
  readonly queued: () => readonly string[]
  readonly completion: CompletionSource
  /** The names of the slash commands, for suggestions. */
  readonly commands: () => readonly string[]
  readonly pastes: PasteFiles & PasteLimits
  /** Reads an image whose path was pasted or dropped. */
  readonly readImage: (path: string) => Promise<Result<AttachedImage>>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** The editor has changed by itself, for example because completions arrived. */
  readonly changed: () => void
}
