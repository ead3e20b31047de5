/** What the script around a command says between the command's own output. */
export type RunMark =
  | { readonly kind: "moved"; readonly to: string }
  | { readonly kind: "started"; readonly pid: number }
  | { readonly kind: "ended"; readonly code: number }
  | { readonly kind: "no-directory"; readonly why: "missing" | "not-a-directory" | "denied" }

/** Takes the marks out of an output that arrives in pieces. What comes before the first mark is not the command's and is left out. */
export function createMarkReader(
  tag: string,
  on: { readonly text: (text: string) => void; readonly mark: (mark: RunMark) => void },
): (piece: string) => void {
  const opening = `\u001E${tag} `
  let held = ""
  let started = false
  let ended = false
  return (piece) => {
    if (ended) return
    held += piece
    while (!ended) {
      const start = held.indexOf(opening)
      const shown = start === -1 ? held.length - overlap(held, opening) : start
      if (started && shown > 0) on.text(held.slice(0, shown))
      held = held.slice(shown)
      if (start === -1) return
      const end = held.indexOf("\u001E", opening.length)
      if (end === -1 && held.length <= MAX_MARK_CHARS) return
      const mark = end === -1 ? undefined : readMark(held.slice(opening.length, end))
      held = held.slice(mark === undefined ? opening.length : end + 1)
      if (mark === undefined) {
        // A command that knows its tag may print something alike; it is text.
        if (started) on.text(opening)
        continue
      }
      if (mark.kind === "started") started = true
      ended = mark.kind === "ended" || mark.kind === "no-directory"
      on.mark(mark)
    }
  }
}

/** A mark holds at most one path. */
const MAX_MARK_CHARS = 8192

function readMark(text: string): RunMark | undefined {
  const space = text.indexOf(" ")
  const [kind, value] = space === -1 ? [text, ""] : [text.slice(0, space), text.slice(space + 1)]
  if (kind === "moved") return { kind, to: value }
  if (kind === "started") return { kind, pid: Number(value) }
  if (kind === "ended") return { kind, code: Number(value) }
  if (kind === "missing" || kind === "not-a-directory" || kind === "denied") return { kind: "no-directory", why: kind }
  return undefined
}

/** How many characters at the end of a text could be the beginning of the mark. */
function overlap(text: string, mark: string): number {
  const start = text.lastIndexOf("\u001E")
  return start !== -1 && mark.startsWith(text.slice(start)) ? text.length - start : 0
}
