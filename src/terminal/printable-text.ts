import { stripAnsi } from "../base/strip-ansi.ts"

/**
 * Text that a terminal shows and does not interpret. Answers, file contents, error messages of servers and stored messages may
 * contain sequences that move the cursor, change the title or the clipboard, or reverse the direction of the text.
 */
export function plainText(text: string): string {
  return INTERPRETED.test(text) ? withoutControlCharacters(stripAnsi(text)) : text
}

/** The same for a line that Hermes has styled: its own styles are kept. What is styled must be plain text already. */
export function styledText(text: string): string {
  if (!INTERPRETED.test(text)) return text
  return text
    .split(OWN_STYLE)
    .map((part, index) => (index % 2 === 1 ? part : plainText(part)))
    .join("")
}

/** Plain text from parts in which a sequence may be cut in two. */
export interface PlainStream {
  /** The text to show now. The beginning of a sequence waits for its end. */
  feed(part: string): string
  /** What still waits. */
  end(): string
}

export function createPlainStream(): PlainStream {
  let held = ""
  return {
    feed: (part) => {
      const text = held + part
      const start = INTRODUCER.test(text) ? text.search(UNFINISHED) : -1
      const complete = start === -1 || text.length - start > MAX_HELD_CHARS ? text.length : start
      held = text.slice(complete)
      return plainText(text.slice(0, complete))
    },
    end: () => {
      const rest = plainText(held)
      held = ""
      return rest
    },
  }
}

/** Removes control characters other than newline and tab, and marks that reverse the direction of text. */
function withoutControlCharacters(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(INTERPRETED_CHARACTERS, "")
}

/** Control characters, and the embeddings, overrides and isolates of the bidirectional algorithm. */
const INTERPRETED_CLASS = String.raw`(?![\n\t])[\p{Cc}\u{202A}-\u{202E}\u{2066}-\u{2069}]`
const INTERPRETED = new RegExp(INTERPRETED_CLASS, "u")
const INTERPRETED_CHARACTERS = new RegExp(INTERPRETED_CLASS, "gu")

/** Bold, dim and the colours of tool lines and the prompt, and their ends. In a group, so that `split` keeps them. */
const OWN_STYLE = new RegExp(String.raw`(\u{1B}\[(?:0|1|2|22|31|32|36|1;36)m)`, "u")

const INTRODUCER = new RegExp(String.raw`[\u{1B}\u{90}\u{98}\u{9B}\u{9D}-\u{9F}]`, "u")

/** A sequence that the text ends in before it is complete. */
const UNFINISHED = new RegExp(
  [
    String.raw`(?:\u{1B}\]|\u{9D})[^\u{7}\u{1B}\u{80}-\u{9F}]*\u{1B}?$`,
    String.raw`(?:\u{1B}[PX^_]|[\u{90}\u{98}\u{9E}\u{9F}])[^\u{1B}\u{80}-\u{9F}]*\u{1B}?$`,
    String.raw`(?:\u{1B}\[|\u{9B})[0-?]*[ -\/]*$`,
    String.raw`\u{1B}[ -\/]*$`,
  ].join("|"),
  "u",
)

/** A sequence without an end does not hold the answer back. */
const MAX_HELD_CHARS = 4000
