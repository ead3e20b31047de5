import { emitKeypressEvents } from "node:readline"
import type { ReadStream, WriteStream } from "node:tty"

import { assertNever } from "../../../base/assert-never.ts"
import { Channel } from "../../../base/channel.ts"
import { systemClock } from "../../../base/clock.ts"
import type { SessionId } from "../../../protocol/identifiers.ts"
import type { SessionSummary } from "../../../state/store.ts"
import type { Terminal } from "../../terminal.ts"
import { drawPicker, press, startPicker } from "./picker-state.ts"
import type { Key, PickerState, PickerWish } from "./picker-state.ts"

export interface PickerOptions {
  readonly terminal: Terminal
  readonly input: ReadStream
  readonly output: Pick<WriteStream, "rows" | "on" | "off">
  readonly signal: AbortSignal
  /** False when there was nothing to delete. */
  readonly remove: (id: SessionId) => Promise<boolean>
  /** The title it has now, or why it kept the old one. */
  readonly rename: (
    id: SessionId,
    title: string,
  ) => Promise<{ readonly title: string | null } | { readonly problem: string }>
}

/** A list that is walked with the arrow keys and narrowed by typing, on a screen of its own that vanishes afterwards. */
export async function pickSession(
  sessions: readonly SessionSummary[],
  options: PickerOptions,
): Promise<SessionSummary | undefined> {
  const { terminal, output, signal } = options
  let state = startPicker(sessions)
  const draw = (): void => {
    const view = { columns: terminal.columns, rows: output.rows, now: systemClock.now() / 1000, color: terminal.color }
    terminal.out(`${HOME_AND_CLEAR}${drawPicker(state, view).join("\r\n")}`)
  }
  const keys = openKeys(options.input, signal)
  terminal.out(OWN_SCREEN)
  output.on("resize", draw)
  try {
    draw()
    for await (const key of keys.pressed) {
      const { state: next, wish } = press(state, key)
      if (wish.kind === "pick") return wish.session
      if (wish.kind === "leave") return undefined
      state = await fulfil(wish, next, options)
      if (state.sessions.length === 0) return undefined
      draw()
    }
    return undefined
  } finally {
    keys.close()
    output.off("resize", draw)
    terminal.out(FORMER_SCREEN)
  }
}

const OWN_SCREEN = "\u{1B}[?1049h\u{1B}[?25l"
const FORMER_SCREEN = "\u{1B}[?25h\u{1B}[?1049l"
const HOME_AND_CLEAR = "\u{1B}[H\u{1B}[2J"

/** What is left of the list after a wish. */
async function fulfil(
  wish: Exclude<PickerWish, { kind: "pick" | "leave" }>,
  state: PickerState,
  options: PickerOptions,
): Promise<PickerState> {
  switch (wish.kind) {
    case "none":
      return state
    case "delete": {
      const message = (await options.remove(wish.id)) ? `Deleted ${wish.id}.` : `${wish.id} was gone already.`
      const sessions = state.sessions.filter(({ id }) => id !== wish.id)
      return { ...state, sessions, selected: Math.max(0, Math.min(state.selected, sessions.length - 1)), message }
    }
    case "rename": {
      const outcome = await options.rename(wish.id, wish.title)
      if ("problem" in outcome) return { ...state, message: outcome.problem }
      const { title } = outcome
      return { ...state, sessions: state.sessions.map((each) => (each.id === wish.id ? { ...each, title } : each)) }
    }
    default:
      return assertNever(wish)
  }
}

interface Keys {
  readonly pressed: AsyncIterable<Key>
  /** The terminal is as it was. */
  close(): void
}

/** Every key by itself. */
function openKeys(input: ReadStream, signal: AbortSignal): Keys {
  const pressed = new Channel<Key>()
  const take = (text: string | undefined, key: Omit<Key, "text">): void => {
    pressed.push({ ...key, text: text ?? "" })
  }
  const end = (): void => {
    pressed.close()
  }
  emitKeypressEvents(input)
  input.on("keypress", take)
  input.on("end", end)
  signal.addEventListener("abort", end, { once: true })
  input.setRawMode(true)
  input.resume()
  return {
    pressed,
    close: () => {
      input.off("keypress", take)
      input.off("end", end)
      signal.removeEventListener("abort", end)
      input.setRawMode(false)
      input.pause()
      pressed.close()
    },
  }
}
