import type { Shown } from "./draw-frame.ts"
import { type ReflowOptions, rowsAboveCursor } from "./reflow.ts"

/** The frames whose bytes may have been on their way to the terminal when it changed its size. */
export interface RecentFrames {
  drawn(frame: RecentFrame): void
  /** The live area was erased, so nothing drawn before counts. */
  forget(): void
  /**
   * How far the cursor is below the first row of the live area, after the terminal was resized at this time. In doubt less: the rows above
   * are printed and must stay.
   */
  rowsAboveCursor(resizedAt: number, options: ReflowOptions): number
}

export interface RecentFrame {
  readonly shown: Shown
  /** How many rows were printed above the live area. */
  readonly printed: number
  readonly at: number
}

/** How long bytes may be on their way to the terminal. */
const IN_FLIGHT_MS = 20

export function createRecentFrames(): RecentFrames {
  let frames: readonly RecentFrame[] = []
  return {
    drawn: (frame) => {
      const arrived = frames.findLastIndex(({ at }) => at <= frame.at - IN_FLIGHT_MS)
      frames = [...frames.slice(Math.max(0, arrived)), frame]
    },
    forget: () => {
      frames = []
    },
    rowsAboveCursor: (resizedAt, options) => {
      const last = frames.at(-1)
      if (last === undefined) return 0
      const heightOf = ({ shown }: RecentFrame): number => rowsAboveCursor(shown, options)
      let fewest = heightOf(last)
      let printed = 0
      for (let index = frames.length - 1; index >= 0; index -= 1) {
        const frame = frames[index]
        if (frame === undefined || frame.at <= resizedAt - IN_FLIGHT_MS) break
        printed += frame.printed
        const before = frames[index - 1]
        // This frame may have been drawn over the one before it as the terminal had wrapped that, counting rows from the cursor as they
        // were before. Rows that it printed are then directly above its own rows, which are cut and not wrapped.
        const { row } = last.shown.cursor
        const height = before === undefined || printed > 0 ? row : heightOf(before) + row - before.shown.cursor.row
        fewest = Math.max(0, Math.min(fewest, height))
      }
      return fewest
    },
  }
}
