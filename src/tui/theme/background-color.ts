import type { Clock } from "../../base/clock.ts"
import type { Screen } from "../screen/screen.ts"
import { basicColor, parseColor, type Rgb } from "./color.ts"
import { DARK_BACKGROUND, LIGHT_BACKGROUND } from "./create-theme.ts"

/** The background as the user or the terminal has said it in the environment. */
export function backgroundFromEnvironment(variable: (name: string) => string | undefined): Rgb | undefined {
  const wanted = (variable("HERMES_TUI_THEME") ?? "").trim().toLowerCase()
  if (wanted === "light") return LIGHT_BACKGROUND
  if (wanted === "dark") return DARK_BACKGROUND
  const color = parseColor(wanted)
  if (color !== undefined) return color
  // Foreground and background, with a third number between them in some terminals.
  const index = /^(?:\d+;)+(\d+)$/.exec(variable("COLORFGBG") ?? "")?.[1]
  return index === undefined || Number(index) > 15 ? undefined : basicColor(Number(index))
}

/**
 * Asks the terminal for its background. Resolves with undefined when it does not answer; the UI is drawn with the default until then.
 * What arrives later is ignored.
 */
export async function askBackground(
  screen: Pick<Screen, "control" | "onReply">,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Rgb | undefined> {
  const answered = new AbortController()
  let color: Rgb | undefined
  screen.onReply((payload) => {
    color = parseBackgroundReply(payload)
    if (color !== undefined) answered.abort()
  })
  screen.control(BACKGROUND_QUERY)
  try {
    await clock.sleep(ANSWER_MS, { signal: AbortSignal.any([signal, answered.signal]) })
  } catch (error) {
    if (!answered.signal.aborted && !signal.aborted) throw error
  }
  return color
}

const BACKGROUND_QUERY = "\u{1B}]11;?\u{1B}\\"
const ANSWER_MS = 100

/** Reads `11;rgb:rrrr/gggg/bbbb`, with one to four digits each. */
export function parseBackgroundReply(payload: string): Rgb | undefined {
  const match = /^11;rgba?:([\da-f]{1,4})\/([\da-f]{1,4})\/([\da-f]{1,4})(?:\/|$)/i.exec(payload)
  if (match === null) return parseColor(/^11;(#.*)$/.exec(payload)?.[1] ?? "")
  const [red = 0, green = 0, blue = 0] = match
    .slice(1)
    .map((digits) => Math.round((Number.parseInt(digits, 16) / (16 ** digits.length - 1)) * 255))
  return { red, green, blue }
}
