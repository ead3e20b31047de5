import type { Clock } from "../../base/clock.ts"
import type { Screen } from "../screen/screen.ts"
import type { Theme } from "../theme/theme.ts"
import type { Modal } from "./modal.ts"

/** Shows a modal as the only content of a screen until the user has decided. Undefined when the signal aborts first. */
export async function showModal<T>(
  modal: Modal<T>,
  options: {
    readonly screen: Pick<Screen, "setLive" | "update" | "onKey">
    readonly theme: Theme
    readonly clock: Clock
    readonly signal: AbortSignal
  },
): Promise<T | undefined> {
  const { screen, theme, clock, signal } = options
  const { promise, resolve } = Promise.withResolvers<T | undefined>()
  const cancel = (): void => resolve(undefined)
  modal.changed = (decided) => {
    if (decided !== undefined) resolve(decided.decision)
    screen.update("now")
  }
  screen.setLive((size) => modal.draw({ size, theme, now: clock.now() }))
  screen.onKey((event) => {
    const decided = modal.key(event, clock.now())
    if (decided !== undefined && "decision" in decided) resolve(decided.decision)
    screen.update("now")
  })
  signal.addEventListener("abort", cancel, { once: true })
  if (signal.aborted) cancel()
  screen.update("now")
  try {
    return await promise
  } finally {
    signal.removeEventListener("abort", cancel)
    modal.close?.()
  }
}
