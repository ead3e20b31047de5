import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"

/** What counts as progress when it changes. */
export interface ChildProgress {
  readonly iteration: number
  /** The tool that runs now; undefined between calls. */
  readonly tool: string | undefined
}

const BEAT_MS = 30_000
const STALE_IDLE_BEATS = 15
/** One command may take long. */
const STALE_TOOL_BEATS = 40

/**
 * Calls `beat` every 30 seconds while a sub-agent makes progress, so that the session that waits for it does not look inactive. Stops for
 * good when nothing has changed for too long: the inactivity limit of the surface then applies. Resolves when it stops or the signal aborts.
 */
export async function keepAlive(
  progress: () => ChildProgress,
  { clock, signal, beat }: { readonly clock: Clock; readonly signal: AbortSignal; readonly beat: () => void },
): Promise<void> {
  let last = progress()
  let unchanged = 0
  for (;;) {
    try {
      await clock.sleep(BEAT_MS, { signal })
    } catch (error) {
      if (isAbort(error)) return
      throw error
    }
    const now = progress()
    const isSame = now.iteration === last.iteration && now.tool === last.tool
    unchanged = isSame ? unchanged + 1 : 0
    last = now
    if (unchanged >= (now.tool === undefined ? STALE_IDLE_BEATS : STALE_TOOL_BEATS)) return
    beat()
  }
}
