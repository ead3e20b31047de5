import type { Drawing, Row, Size } from "../drawing.ts"

/** The parts of the live area, from top to bottom. */
export interface LiveParts {
  /** What the turn shows at the moment: the open block of the answer, running calls, the spinner. Its end is shown if space is short. */
  readonly activity: readonly Row[]
  /** Messages that wait for the end of the turn. */
  readonly queue: readonly Row[]
  /** Takes the place of the editor; drawn with the rows that are left for it. */
  readonly modal: ((rows: number) => Drawing) | undefined
  readonly status: readonly Row[]
  readonly editor: (rows: number) => Drawing
}

/** What a modal leaves for the turn above it, so that the user sees what is being asked about. */
const ACTIVITY_WITH_MODAL = 3
const MIN_EDITOR_ROWS = 1

/** Puts the parts below one another, within the height of the screen. One row stays free for what is printed above. */
export function layOut(parts: LiveParts, size: Size): Drawing {
  const height = Math.max(MIN_EDITOR_ROWS, size.rows - 1)
  const status = parts.status.slice(0, Math.max(0, height - MIN_EDITOR_ROWS))
  if (parts.modal !== undefined) {
    const modal = parts.modal(height - status.length)
    const left = Math.max(0, height - status.length - modal.rows.length)
    return stack([
      { rows: parts.activity.slice(-Math.min(left, ACTIVITY_WITH_MODAL)).slice(0, left) },
      modal,
      { rows: status },
    ])
  }
  const editor = parts.editor(height - status.length)
  const space = height > status.length + editor.rows.length ? [""] : []
  const free = Math.max(0, height - status.length - editor.rows.length - space.length)
  const queue = parts.queue.slice(0, Math.min(free, Math.ceil(free / 2)))
  const activity = free === queue.length ? [] : parts.activity.slice(-(free - queue.length))
  return stack([{ rows: activity }, { rows: space }, { rows: queue }, { rows: status }, editor])
}

function stack(drawings: readonly Drawing[]): Drawing {
  const rows: Row[] = []
  let cursor: Drawing["cursor"]
  for (const drawing of drawings) {
    if (drawing.cursor !== undefined) cursor = { row: rows.length + drawing.cursor.row, column: drawing.cursor.column }
    rows.push(...drawing.rows)
  }
  return cursor === undefined ? { rows } : { rows, cursor }
}
