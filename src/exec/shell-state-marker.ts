/** What a command prints around its last directory, where nobody can look at the files it left. */
export function cwdMarker(session: string): string {
  return `__HERMES_CWD_${session.replaceAll(/[^A-Za-z0-9]/g, "")}__`
}

/** Takes the report of the last directory out of an output that arrives in pieces. */
export function createMarkerFilter(marker: string): {
  /** What can be shown now; a piece that may be the beginning of the report is held back. */
  push(text: string): string
  /** What was held back and is no report after all. */
  end(): string
  /** The directory, once the whole report has been seen. */
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
      // A report is short: what goes on for longer only looks like one.
      if (end === -1 && held.length - start <= MAX_REPORT_CHARS) {
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

const MAX_REPORT_CHARS = 16 * 1024

/** How many characters at the end of a text could be the beginning of the marker. */
function overlap(text: string, marker: string): number {
  for (let length = Math.min(text.length, marker.length - 1); length > 0; length -= 1) {
    if (marker.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}
