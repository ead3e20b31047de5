import { assertNever } from "../../base/assert-never.ts"
import type { Config } from "../../config/load-config.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import { takeColumns } from "../../terminal/text-width.ts"

/** How a terminal shows a notification. */
export type NotificationChannel = "off" | "bell" | "osc9" | "osc777"

export interface NotificationOptions {
  readonly channel: NotificationChannel
  readonly inTmux: boolean
}

/** Reads the setting, and what the terminal says about itself when the setting is `auto`. */
export function notificationOptions(
  config: Pick<Config, "get">,
  variable: (name: string) => string | undefined,
): NotificationOptions {
  const wanted = config.get("display.notifications")
  return {
    channel: wanted === "auto" ? detectChannel(variable) : wanted,
    inTmux: (variable("TMUX") ?? "") !== "",
  }
}

function detectChannel(variable: (name: string) => string | undefined): NotificationChannel {
  const [program, term] = [variable("TERM_PROGRAM") ?? "", variable("TERM") ?? ""]
  // tmux sets its own name; these variables of the terminal around it are still there.
  const outer = variable("LC_TERMINAL") ?? ""
  if (/iterm|wezterm|ghostty/i.test(`${program} ${outer}`) || /kitty|ghostty/.test(term)) return "osc9"
  if (/^(?:rxvt|foot)/.test(term)) return "osc777"
  return "bell"
}

/** The sequence that shows a notification; empty when they are switched off. */
export function notificationSequence(
  notification: { readonly title: string; readonly text: string },
  { channel, inTmux }: NotificationOptions,
): string {
  const [title, text] = [field(notification.title), field(notification.text)]
  switch (channel) {
    case "off":
      return ""
    case "bell":
      return BELL
    case "osc9":
      return passThrough(osc(`9;${title}: ${text}`), inTmux)
    case "osc777":
      return passThrough(osc(`777;notify;${title};${text}`), inTmux)
    default:
      return assertNever(channel)
  }
}

/** The sequence that puts text into the clipboard; undefined when the text is longer than terminals accept. */
export function copySequence(text: string, { inTmux }: Pick<NotificationOptions, "inTmux">): string | undefined {
  const encoded = Buffer.from(text, "utf8").toString("base64")
  if (encoded.length > MAX_COPIED_CHARS) return undefined
  const sequence = osc(`52;c;${encoded}`)
  // Depending on its settings tmux handles the sequence itself, or lets the terminal do it.
  return inTmux ? sequence + wrapForTmux(sequence) : sequence
}

/** The sequence that sets the title of window and tab. */
export function titleSequence(title: string): string {
  return osc(`0;${takeColumns(oneLine(title), MAX_TITLE_COLUMNS)}`)
}

/** These put the title of before on a stack, and take it back. */
export const SAVE_TITLE = "\u{1B}[22;0t"
export const RESTORE_TITLE = "\u{1B}[23;0t"

const BELL = "\u{7}"
const MAX_FIELD_COLUMNS = 200
const MAX_TITLE_COLUMNS = 120
const MAX_COPIED_CHARS = 100_000

/** The text of a field. A semicolon would end it, and after `9;` some terminals take a number for a command. */
function field(text: string): string {
  return takeColumns(oneLine(text), MAX_FIELD_COLUMNS)
    .replaceAll(";", ",")
    .replace(/^(?=\d)/, " ")
}

/** In tmux the bell marks the window, also when tmux does not pass the sequence on. */
function passThrough(sequence: string, inTmux: boolean): string {
  return inTmux ? wrapForTmux(sequence) + BELL : sequence
}

function wrapForTmux(sequence: string): string {
  return `\u{1B}Ptmux;${sequence.replaceAll("\u{1B}", "\u{1B}\u{1B}")}\u{1B}\\`
}

function osc(payload: string): string {
  return `\u{1B}]${payload}\u{1B}\\`
}
