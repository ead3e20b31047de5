import type { SessionStoreContext } from "../../admin/sessions/session-store.ts"
import { systemClock } from "../../base/clock.ts"
import { sessionList, type SessionListOptions } from "../../commands/lists/session-list.ts"
import type { Environment } from "../../config/environment.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { raiseHangup } from "../../terminal/stop-signal.ts"
import { openScreen } from "../screen/screen.ts"
import { terminalTraits } from "../screen/terminal-modes.ts"
import { backgroundFromEnvironment } from "../theme/background-color.ts"
import { colorDepth, createTheme, DARK_BACKGROUND } from "../theme/create-theme.ts"
import { DEFAULT_SKIN } from "../theme/skins.ts"
import { createListModal } from "./list-modal.ts"
import { showModal } from "./show-modal.ts"

export interface BrowseOptions extends Pick<SessionListOptions, "source" | "limit"> {
  readonly environment: Environment
  readonly color: boolean
  readonly signal: AbortSignal
}

/** `hermes sessions browse` on a terminal. Undefined when the user leaves the list. */
export async function browseSessions(
  context: SessionStoreContext,
  { environment, color, signal, ...list }: BrowseOptions,
): Promise<SessionId | undefined> {
  const variable = (name: string): string | undefined => environment.get(name)
  const theme = createTheme(DEFAULT_SKIN, {
    depth: color ? colorDepth(variable) : "none",
    background: backgroundFromEnvironment(variable) ?? DARK_BACKGROUND,
  })
  const screen = openScreen({
    input: process.stdin.ref(),
    output: process.stdout,
    clock: systemClock,
    traits: terminalTraits(variable),
    ended: raiseHangup,
  })
  try {
    const modal = createListModal(sessionList(context, list))
    return (await showModal(modal, { screen, theme, clock: systemClock, signal }))?.value
  } finally {
    screen.close()
  }
}
