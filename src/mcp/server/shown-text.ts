import { ellipsize } from "../../base/text.ts"

/** Removes secrets from a text. */
export type Redact = (text: string) => string

const MAX_CHARS = 2000

/** The text of a message for other programs. Shortened last: a secret of which only the beginning is left would not be recognized. */
export function shownText(text: string, redact: Redact): string {
  return ellipsize(redact(text), MAX_CHARS)
}
