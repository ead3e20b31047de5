import type { Reflow } from "./reflow.ts"

/** What the screen has to know about the terminal beforehand, because asking would delay the first frame. */
export interface TerminalTraits {
  readonly reflow: Reflow
  /** How long the size must stay the same before it is believed. */
  readonly settleMs: number
  /** The window may have another size already when a frame arrives, so a printed row is written as a whole. */
  readonly reportsSizeLate?: true
  /** The terminal marks pasted text. Where it does not, lines that arrive together are taken for pasted text. */
  readonly marksPastes: boolean
  /** The terminal has a window with a title. */
  readonly titles: boolean
  /** How keys such as Shift+Enter are requested; some terminals misread a request that they do not know. */
  readonly keyboard: "kitty" | "modify-other-keys" | "legacy"
  /** It may be tmux: the variables do not tell over ssh, or after `env -i`. The terminal is asked behind the first frame. */
  readonly mayBeMultiplexer?: true
}

/** Reads the traits from the variables that terminals set. */
export function terminalTraits(variable: (name: string) => string | undefined): TerminalTraits {
  const term = variable("TERM") ?? ""
  const has = (name: string): boolean => (variable(name) ?? "") !== ""
  // tmux reflows for the programs in it, whatever the outer terminal does, and passes on no Kitty keys. It reports a series of resizes
  // with a delay of up to 250 ms, while it has changed the size already.
  if (has("TMUX") || term.startsWith("tmux"))
    return { ...TMUX_RESIZES, titles: true, marksPastes: true, keyboard: "modify-other-keys" }
  const traits = { settleMs: SETTLE_MS, titles: true, marksPastes: true } as const
  if (term === "linux" || term.startsWith("vt"))
    return { ...traits, reflow: "none", titles: false, marksPastes: false, keyboard: "legacy" }
  if (has("STY") || term.startsWith("rxvt")) return { ...traits, reflow: "none", keyboard: "legacy" }
  if (term.startsWith("screen")) return { ...traits, reflow: "none", keyboard: "legacy", mayBeMultiplexer: true }
  if (has("XTERM_VERSION")) return { ...traits, reflow: "none", keyboard: "modify-other-keys" }
  const reflow = variable("TERM_PROGRAM") === "vscode" ? "except-cursor-row" : "all"
  return { ...traits, reflow, keyboard: "kitty", ...(term.startsWith("xterm") ? { mayBeMultiplexer: true } : {}) }
}

/** The traits after the terminal has said what it is. The keyboard stays as it was requested, so that leaving ends that request. */
export function identifiedTraits(traits: TerminalTraits, kind: number): TerminalTraits {
  if (kind === TMUX) return { ...traits, ...TMUX_RESIZES }
  return kind === GNU_SCREEN ? { ...traits, reflow: "none" } : traits
}

/** Requests the secondary device attributes. */
export const ASK_TERMINAL_KIND = "\u{1B}[>c"

/** The first of the secondary device attributes: the letters T and S. */
const TMUX = 84
const GNU_SCREEN = 83

const TMUX_RESIZES = { reflow: "all", settleMs: 300, reportsSizeLate: true } as const

/** Longer than the time between two steps when a window is resized with the mouse. */
const SETTLE_MS = 60

export function enterModes(keyboard: TerminalTraits["keyboard"], focus: boolean): string {
  return `\u{1B}[?2004h${KEYBOARD_ON[keyboard]}${focus ? "\u{1B}[?1004h" : ""}`
}

/** Also makes the cursor visible and switches styles off, whatever was interrupted. */
export function leaveModes(keyboard: TerminalTraits["keyboard"], focus: boolean): string {
  return `${END_FRAME}${focus ? "\u{1B}[?1004l" : ""}${KEYBOARD_OFF[keyboard]}\u{1B}[?2004l${WRAP}\u{1B}[?25h\u{1B}[m`
}

/** Ends the request for keys once more: the Kitty protocol counts them. */
export function resetKeyboard(keyboard: TerminalTraits["keyboard"]): string {
  return KEYBOARD_OFF[keyboard]
}

const KEYBOARD_ON = { kitty: "\u{1B}[>1u", "modify-other-keys": "\u{1B}[>4;1m", legacy: "" } as const
const KEYBOARD_OFF = { kitty: "\u{1B}[<u", "modify-other-keys": "\u{1B}[>4m", legacy: "" } as const

/** Text that is too wide wraps, as terminals do it by default. */
export const WRAP = "\u{1B}[?7h"
export const BEGIN_FRAME = "\u{1B}[?2026h"
export const END_FRAME = "\u{1B}[?2026l"
