import type { PasteFiles } from "../../admin/editor-support/paste-files.ts"
import { codePointLength } from "../../base/text.ts"
import type { Draft } from "../../terminal/editor/draft.ts"

/** From how many newlines or characters on a pasted text is saved in a file; 0 never does. */
export interface PasteLimits {
  readonly newlines: number
  /** For terminals that do not mark pasted text. */
  readonly unbracketedNewlines: number
  readonly characters: number
}

/** What a pasted text adds to the draft: itself, or the token of the file in which it was saved, on a line of its own. */
export function pastedText(
  text: string,
  draft: Draft,
  { pastes, newlines }: { readonly pastes: PasteFiles & PasteLimits; readonly newlines: number },
): { readonly inserted: string; readonly problem?: string } {
  const isLong =
    (newlines > 0 && text.split("\n").length > newlines) ||
    (pastes.characters > 0 && text.length >= pastes.characters && codePointLength(text) >= pastes.characters)
  // The text is the argument of a command.
  if (!isLong || draft.text.startsWith("/")) return { inserted: text }
  const saved = pastes.save(text)
  if (!saved.ok) return { inserted: text, problem: saved.error }
  const before = /[^\n]$/u.test(draft.text.slice(0, draft.cursor)) ? "\n" : ""
  const after = /^[^\n]/u.test(draft.text.slice(draft.cursor)) ? "\n" : ""
  return { inserted: `${before}${saved.value}${after}` }
}
