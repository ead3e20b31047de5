import { assertNever } from "../../../base/assert-never.ts"
import type { SessionId } from "../../../protocol/identifiers.ts"
import type { SessionSummary } from "../../../state/store.ts"
import { relativeTime } from "../../../terminal/relative-time.ts"
import { counted } from "../../../base/counted.ts"
import { bold, fitColumn, oneLine } from "../../../terminal/text-layout.ts"

/** The picker shows a filtered list, asks before it deletes a session, or edits a title. */
export interface PickerState {
  readonly sessions: readonly SessionSummary[]
  readonly filter: string
  /** Index in the filtered list. */
  readonly selected: number
  readonly mode:
    | { readonly kind: "list" }
    | { readonly kind: "delete"; readonly id: SessionId }
    | { readonly kind: "rename"; readonly id: SessionId; readonly title: string }
  /** The outcome of the last action, or empty. */
  readonly message: string
}

/** A key press as `node:readline` reports it. */
export interface Key {
  readonly name?: string | undefined
  readonly ctrl?: boolean | undefined
  readonly meta?: boolean | undefined
  /** The typed characters; empty for keys that type nothing. */
  readonly text: string
}

export type PickerAction =
  | { readonly kind: "none" }
  | { readonly kind: "leave" }
  | { readonly kind: "pick"; readonly session: SessionSummary }
  | { readonly kind: "delete"; readonly id: SessionId }
  | { readonly kind: "rename"; readonly id: SessionId; readonly title: string }

export interface KeyResult {
  readonly state: PickerState
  readonly action: PickerAction
}

const PAGE = 10

export function createPickerState(sessions: readonly SessionSummary[]): PickerState {
  return { sessions, filter: "", selected: 0, mode: { kind: "list" }, message: "" }
}

/** The sessions whose title, preview, id or source contain every word of the filter. */
export function filteredSessions({ sessions, filter }: PickerState): readonly SessionSummary[] {
  const words = filter.toLowerCase().split(" ").filter(Boolean)
  return sessions.filter(({ title, preview, id, source }) => {
    const text = `${title ?? ""}\n${preview}\n${id}\n${source}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

export function handleKey(state: PickerState, key: Key): KeyResult {
  const cleared = { ...state, message: "" }
  switch (state.mode.kind) {
    case "list":
      return handleListKey(cleared, key)
    case "delete":
      return { state: backToList(cleared), action: key.text.toLowerCase() === "y" ? state.mode : NO_ACTION }
    case "rename":
      return handleTitleKey(cleared, state.mode, key)
    default:
      return assertNever(state.mode)
  }
}

const NO_ACTION: PickerAction = { kind: "none" }

function backToList(state: PickerState): PickerState {
  return { ...state, mode: { kind: "list" } }
}

function handleListKey(state: PickerState, key: Key): KeyResult {
  const found = filteredSessions(state)
  const chosen = found[state.selected]
  const move = (selected: number): KeyResult => ({
    state: { ...state, selected: Math.max(0, Math.min(selected, found.length - 1)) },
    action: NO_ACTION,
  })
  const filter = (text: string): KeyResult => ({ state: { ...state, filter: text, selected: 0 }, action: NO_ACTION })
  if (key.name === "escape" || (key.ctrl === true && key.name === "c")) return { state, action: { kind: "leave" } }
  if (key.name === "return" || key.name === "enter") return pick(state, chosen)
  if (key.name === "up") return move(state.selected - 1)
  if (key.name === "down") return move(state.selected + 1)
  if (key.name === "pageup") return move(state.selected - PAGE)
  if (key.name === "pagedown") return move(state.selected + PAGE)
  if (key.name === "home") return move(0)
  if (key.name === "end") return move(found.length - 1)
  if (key.name === "backspace") return filter(dropLastCharacter(state.filter))
  if (key.ctrl === true && key.name === "u") return filter("")
  if (key.ctrl === true && key.name === "d" && chosen !== undefined) {
    return { state: { ...state, mode: { kind: "delete", id: chosen.id } }, action: NO_ACTION }
  }
  if (key.ctrl === true && key.name === "r" && chosen !== undefined) {
    return {
      state: { ...state, mode: { kind: "rename", id: chosen.id, title: chosen.title ?? "" } },
      action: NO_ACTION,
    }
  }
  if (!isTyped(key)) return { state, action: NO_ACTION }
  if (state.filter === "" && /^[1-9]$/.test(key.text)) return pick(state, found[Number(key.text) - 1])
  return filter(state.filter + key.text)
}

function pick(state: PickerState, session: SessionSummary | undefined): KeyResult {
  return { state, action: session === undefined ? NO_ACTION : { kind: "pick", session } }
}

function handleTitleKey(
  state: PickerState,
  mode: Extract<PickerState["mode"], { kind: "rename" }>,
  key: Key,
): KeyResult {
  const typing = (title: string): KeyResult => ({ state: { ...state, mode: { ...mode, title } }, action: NO_ACTION })
  if (key.name === "escape" || (key.ctrl === true && key.name === "c"))
    return { state: backToList(state), action: NO_ACTION }
  if (key.name === "return" || key.name === "enter") return { state: backToList(state), action: mode }
  if (key.name === "backspace") return typing(dropLastCharacter(mode.title))
  if (key.ctrl === true && key.name === "u") return typing("")
  return isTyped(key) ? typing(mode.title + key.text) : { state, action: NO_ACTION }
}

function dropLastCharacter(text: string): string {
  return Array.from(text).slice(0, -1).join("")
}

/** Pasted text arrives as one key. Keys that type nothing have no text, or control characters. */
function isTyped({ ctrl, meta, text }: Key): boolean {
  return ctrl !== true && meta !== true && text !== "" && !/\p{Cc}/u.test(text)
}

export interface PickerView {
  readonly columns: number
  readonly rows: number
  /** Epoch seconds. */
  readonly now: number
  readonly color: boolean
}

/** Renders the whole screen as lines, none wider than the screen. */
export function renderPicker(state: PickerState, view: PickerView): readonly string[] {
  const found = filteredSessions(state)
  const rowCount = Math.max(1, view.rows - FRAME_LINES)
  const first = Math.max(0, Math.min(state.selected - Math.floor(rowCount / 2), found.length - rowCount))
  const rows = found.slice(first, first + rowCount).map((session, index) => {
    const position = first + index
    const cursor = position === state.selected ? "›" : " "
    const digit = state.filter === "" && position < 9 ? String(position + 1) : " "
    const line = `${cursor} ${digit} ${sessionRow(session, view)}`
    return position === state.selected ? bold(line, view.color) : line
  })
  const count = state.filter === "" ? counted(found.length, "session") : `${found.length} of ${state.sessions.length}`
  return [
    fitColumn(`Filter: ${state.filter}▏  (${count})`, view.columns),
    "",
    ...(rows.length === 0 ? [fitColumn("  No session matches.", view.columns)] : rows),
    "",
    fitColumn(footer(state), view.columns),
  ]
}

/** Filter, footer and the blank lines next to them. */
const FRAME_LINES = 4

/** Cursor and digit, each followed by a space. */
const MARGIN = 4
const NARROW = 70

function sessionRow(session: SessionSummary, { columns, now }: PickerView): string {
  const { title, preview, source, lastActivity, messageCount } = session
  const facts =
    columns < NARROW
      ? ""
      : ` ${fitColumn(source, 9)} ${fitColumn(relativeTime(lastActivity, now), 10)} ${`${messageCount} msgs`.padStart(9)}`
  const available = Math.max(1, columns - MARGIN - facts.length)
  if (title === null || facts === "") return fitColumn(title ?? preview, available) + facts
  const titleWidth = Math.min(32, Math.floor(available / 2))
  return `${fitColumn(title, titleWidth)} ${fitColumn(preview, available - titleWidth - 1)}${facts}`
}

function footer(state: PickerState): string {
  switch (state.mode.kind) {
    case "list":
      return state.message === ""
        ? "Enter resumes · type to filter · Ctrl+R renames · Ctrl+D deletes · Esc quits"
        : oneLine(state.message)
    case "delete":
      return `Delete ${state.mode.id} permanently? y deletes it, any other key keeps it.`
    case "rename":
      return `Title: ${state.mode.title}▏  (Enter saves it, Esc keeps the old one)`
    default:
      return assertNever(state.mode)
  }
}
