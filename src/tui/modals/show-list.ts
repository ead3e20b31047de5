import { systemClock } from "../../base/clock.ts"
import type { ChoiceList } from "../../commands/choice-list.ts"
import type { Environment } from "../../config/environment.ts"
import { raiseHangup } from "../../terminal/stop-signal.ts"
import { openScreen } from "../screen/screen.ts"
import { terminalTraits } from "../screen/terminal-modes.ts"
import { backgroundFromEnvironment } from "../theme/background-color.ts"
import { colorDepth, createTheme, DARK_BACKGROUND } from "../theme/create-theme.ts"
import { DEFAULT_SKIN } from "../theme/skins.ts"
import { createListModal } from "./list-modal.ts"
import { showModal } from "./show-modal.ts"

/** Shows a list as the only content of the terminal, for commands outside a conversation. Undefined when the user leaves it. */
export async function showList<T>(
  list: ChoiceList<T>,
  {
    environment,
    color,
    signal,
  }: { readonly environment: Environment; readonly color: boolean; readonly signal: AbortSignal },
): Promise<T | undefined> {
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
    return (await showModal(createListModal(list), { screen, theme, clock: systemClock, signal }))?.value
  } finally {
    screen.close()
  }
}
