/** The text that a command prints before and after its final directory, for workspaces whose state files Hermes does not read. */
export function cwdMarker(session: string): string {
  return `__HERMES_CWD_${session.replaceAll(/[^A-Za-z0-9]/g, "")}__`
}

/** Removes the marked directory from an output stream and remembers it. */
export function createCwdMarkerFilter(marker: string): {
  /** Returns the text that can be shown; holds back what may be the beginning of a marker. */
  push(text: string): string
  /** Returns what was held back but turned out not to be a marked directory. */
  end(): string
  /** The directory, once it has been read completely. */
  cwd(): string | undefined
} {
  let held = ""
  let cwd: string | undefined
  return {
    push: (text) => {
      held += text
      const start = held.indexOf(marker)
      if (start === -1) {
        const keep = overlap(held, marker)
        const shown = held.slice(0, held.length - keep)
        held = held.slice(held.length - keep)
        return shown
      }
      const end = held.indexOf(marker, start + marker.length)
      // A longer text after a marker cannot be a path.
      if (end === -1 && held.length - start <= MAX_MARKED_CHARS) {
        const shown = held.slice(0, start)
        held = held.slice(start)
        return shown
      }
      const shown = end === -1 ? held : held.slice(0, start) + held.slice(end + marker.length)
      if (end !== -1) cwd = held.slice(start + marker.length, end)
      held = ""
      return shown
    },
    end: () => {
      const rest = held
      held = ""
      return rest
    },
    cwd: () => cwd,
  }
}

const MAX_MARKED_CHARS = 16 * 1024

/** Number of characters at the end of the text that could be the beginning of the marker. */
function overlap(text: string, marker: string): number {
  for (let length = Math.min(text.length, marker.length - 1); length > 0; length -= 1) {
    if (marker.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}
