import type { ReadStream, WriteStream } from "node:tty"

import type { DeleteOutcome } from "../../../admin/sessions/change-session.ts"
import { assertNever } from "../../../base/assert-never.ts"
import { Channel } from "../../../base/channel.ts"
import { systemClock } from "../../../base/clock.ts"
import type { SessionId } from "../../../protocol/identifiers.ts"
import type { SessionSummary } from "../../../state/store.ts"
import { openRawKeys } from "../../../terminal/editor/raw-keys.ts"
import type { Terminal } from "../../../terminal/terminal.ts"
import { renderPicker, handleKey, createPickerState } from "./picker-state.ts"
import type { Key, PickerState, PickerAction } from "./picker-state.ts"

export interface PickerOptions {
  readonly terminal: Terminal
  readonly input: ReadStream
  readonly output: Pick<WriteStream, "rows" | "on" | "off">
  readonly signal: AbortSignal
  readonly remove: (id: SessionId) => Promise<DeleteOutcome>
  /** Returns the new title, or why the session keeps the old one. */
  readonly rename: (
    id: SessionId,
    title: string,
  ) => Promise<{ readonly title: string | null } | { readonly problem: string }>
}

/** Shows a list on the alternate screen: arrow keys move, typing filters. Returns the chosen session. */
export async function pickSession(
  sessions: readonly SessionSummary[],
  options: PickerOptions,
): Promise<SessionSummary | undefined> {
  const { terminal, output, signal } = options
  let state = createPickerState(sessions)
  const draw = (): void => {
    const view = { columns: terminal.columns, rows: output.rows, now: systemClock.now() / 1000, color: terminal.color }
    terminal.live?.control(`${HOME_AND_CLEAR}${renderPicker(state, view).join("\r\n")}`)
  }
  const keys = readKeys(options.input, signal)
  terminal.live?.control(ENTER_ALTERNATE_SCREEN)
  output.on("resize", draw)
  try {
    draw()
    for await (const key of keys.pressed) {
      const { state: next, action } = handleKey(state, key)
      if (action.kind === "pick") return action.session
      if (action.kind === "leave") return undefined
      state = await applyAction(action, next, options)
      if (state.sessions.length === 0) return undefined
      draw()
    }
    return undefined
  } finally {
    keys.close()
    output.off("resize", draw)
    terminal.live?.control(LEAVE_ALTERNATE_SCREEN)
  }
}

const ENTER_ALTERNATE_SCREEN = "\u{1B}[?1049h\u{1B}[?25l"
const LEAVE_ALTERNATE_SCREEN = "\u{1B}[?25h\u{1B}[?1049l"
const HOME_AND_CLEAR = "\u{1B}[H\u{1B}[2J"

/** Performs an action and returns the state that shows its outcome. */
async function applyAction(
  action: Exclude<PickerAction, { kind: "pick" | "leave" }>,
  state: PickerState,
  options: PickerOptions,
): Promise<PickerState> {
  switch (action.kind) {
    case "none":
      return state
    case "delete": {
      const outcome = await options.remove(action.id)
      if (outcome.kind === "open") {
        return { ...state, message: `Not deleted: ${action.id} is open in another process (${outcome.pid}).` }
      }
      const message = outcome.kind === "deleted" ? `Deleted ${action.id}.` : `${action.id} had already been deleted.`
      const sessions = state.sessions.filter(({ id }) => id !== action.id)
      return { ...state, sessions, selected: Math.max(0, Math.min(state.selected, sessions.length - 1)), message }
    }
    case "rename": {
      const outcome = await options.rename(action.id, action.title)
      if ("problem" in outcome) return { ...state, message: outcome.problem }
      const { title } = outcome
      return { ...state, sessions: state.sessions.map((each) => (each.id === action.id ? { ...each, title } : each)) }
    }
    default:
      return assertNever(action)
  }
}

interface KeyReader {
  readonly pressed: AsyncIterable<Key>
  /** Restores the terminal. */
  close(): void
}

/** Switches the terminal to raw mode and emits every key press. */
function readKeys(input: ReadStream, signal: AbortSignal): KeyReader {
  const pressed = new Channel<Key>()
  const onEnd = (): void => {
    pressed.close()
  }
  const keys = openRawKeys({
    input,
    key: (text, { name, ctrl, meta }) => {
      pressed.push({ name, ctrl: ctrl === true, meta: meta === true, text })
    },
    write: () => undefined,
    paste: () => undefined,
    resumed: () => undefined,
    ended: onEnd,
  })
  signal.addEventListener("abort", onEnd, { once: true })
  return {
    pressed,
    close: () => {
      signal.removeEventListener("abort", onEnd)
      keys.close()
      pressed.close()
    },
  }
}
