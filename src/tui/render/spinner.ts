import { takeColumns } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"
import type { Theme } from "../theme/theme.ts"
import { oneLine } from "../../terminal/text-layout.ts"

/** How long a frame is shown, and with it how often the live area changes while it waits. */
export const FRAME_MS = 120
const FACE_MS = 2500

export interface WaitingOptions {
  readonly theme: Theme
  readonly columns: number
  /** Since the wait began. */
  readonly elapsedMs: number
  /** What the turn does; without it the verbs of the skin are shown in turn. */
  readonly activity?: string
  readonly isThinking?: boolean
  /** Default `kaomoji`: the faces of the skin. */
  readonly indicator?: Indicator
}

export type Indicator = "kaomoji" | "emoji" | "unicode" | "ascii"

const EMOJI_FACES = ["🤔", "💭", "🧠", "🔍"]
const ASCII_FRAMES = ["|", "/", "-", "\\"]

/** The row of a turn that waits: `⠋ (◔_◔) pondering... (1.2s)`. */
export function waitingRow(options: WaitingOptions): Row {
  const { theme, columns, elapsedMs, activity, isThinking = false, indicator = "kaomoji" } = options
  const { waitingFaces, thinkingFaces, thinkingVerbs, wings } = theme.spinner
  const turn = Math.floor(elapsedMs / FACE_MS)
  const faces = { kaomoji: isThinking ? thinkingFaces : waitingFaces, emoji: EMOJI_FACES, unicode: [], ascii: [] }
  const face = at(faces[indicator], turn) ?? ""
  const [left, right] = indicator === "kaomoji" ? (at(wings, turn) ?? ["", ""]) : ["", ""]
  const frame =
    indicator === "ascii" ? at(ASCII_FRAMES, Math.floor(elapsedMs / FRAME_MS)) : spinnerFrame(theme, elapsedMs)
  const verb = activity === undefined ? (at(thinkingVerbs, turn) ?? "thinking") : oneLine(activity)
  const time = ` (${(elapsedMs / 1000).toFixed(1)}s)`
  const text = [frame ?? "", left + face + right, `${verb}...`].filter((part) => part.trim() !== "").join(" ")
  return theme.style("dim", takeColumns(text, Math.max(0, columns - time.length)) + time)
}

export function spinnerFrame(theme: Theme, elapsedMs: number): string {
  return at(theme.spinner.frames, Math.floor(elapsedMs / FRAME_MS)) ?? ""
}

function at<T>(list: readonly T[], index: number): T | undefined {
  return list[index % Math.max(1, list.length)]
}
