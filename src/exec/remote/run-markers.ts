/** A status message that `RUN_SCRIPT` prints between the output of the command. */
export type RunMarker =
  /** The working directory does not exist; the command runs in its nearest ancestor. */
  | { readonly kind: "moved"; readonly to: string }
  | { readonly kind: "started"; readonly pid: number }
  | { readonly kind: "ended"; readonly code: number }
  | { readonly kind: "no-directory"; readonly why: "missing" | "not-a-directory" | "denied" }

/** Separates the markers from an output stream. Drops the text before the first one, which is not the command's output. */
export function createMarkerReader(
  tag: string,
  on: { readonly text: (text: string) => void; readonly marker: (marker: RunMarker) => void },
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
      if (end === -1 && held.length <= MAX_MARKER_CHARS) return
      const marker = end === -1 ? undefined : parseMarker(held.slice(opening.length, end))
      held = held.slice(marker === undefined ? opening.length : end + 1)
      if (marker === undefined) {
        // A command that knows its tag may print something similar, which is plain output.
        if (started) on.text(opening)
        continue
      }
      if (marker.kind === "started") started = true
      ended = marker.kind === "ended" || marker.kind === "no-directory"
      on.marker(marker)
    }
  }
}

/** A marker contains at most one path. */
const MAX_MARKER_CHARS = 8192

function parseMarker(text: string): RunMarker | undefined {
  const space = text.indexOf(" ")
  const [kind, value] = space === -1 ? [text, ""] : [text.slice(0, space), text.slice(space + 1)]
  if (kind === "moved") return { kind, to: value }
  if (kind === "started") return { kind, pid: Number(value) }
  if (kind === "ended") return { kind, code: Number(value) }
  if (kind === "missing" || kind === "not-a-directory" || kind === "denied") return { kind: "no-directory", why: kind }
  return undefined
}

/** Number of characters at the end of the text that could be the beginning of a marker. */
function overlap(text: string, opening: string): number {
  const start = text.lastIndexOf("\u001E")
  return start !== -1 && opening.startsWith(text.slice(start)) ? text.length - start : 0
}
