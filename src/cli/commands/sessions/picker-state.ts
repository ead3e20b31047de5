import { assertNever } from "../../../base/assert-never.ts"
import type { SessionId } from "../../../protocol/identifiers.ts"
import type { SessionSummary } from "../../../state/store.ts"
import { relativeTime } from "../../relative-time.ts"
import { bold, counted, fitColumn, oneLine } from "../../text-layout.ts"

/** What the picker shows: a list with a filter, a question about one session, or its title being typed. */
export interface PickerState {
  readonly sessions: readonly SessionSummary[]
  readonly filter: string
  /** Place in the filtered list. */
  readonly selected: number
  readonly mode:
    | { readonly kind: "list" }
    | { readonly kind: "delete"; readonly id: SessionId }
    | { readonly kind: "rename"; readonly id: SessionId; readonly title: string }
  /** What became of the last wish, when that is worth a line. */
  readonly message: string
}

/** A key as `node:readline` tells it. */
export interface Key {
  readonly name?: string | undefined
  readonly ctrl?: boolean | undefined
  readonly meta?: boolean | undefined
  /** What was typed, when it can be seen. */
  readonly text: string
}

export type PickerWish =
  | { readonly kind: "none" }
  | { readonly kind: "leave" }
  | { readonly kind: "pick"; readonly session: SessionSummary }
  | { readonly kind: "delete"; readonly id: SessionId }
  | { readonly kind: "rename"; readonly id: SessionId; readonly title: string }

export interface Pressed {
  readonly state: PickerState
  readonly wish: PickerWish
}

const PAGE = 10

export function startPicker(sessions: readonly SessionSummary[]): PickerState {
  return { sessions, filter: "", selected: 0, mode: { kind: "list" }, message: "" }
}

/** The sessions that hold every word of the filter in their title, first words, id or source. */
export function matching({ sessions, filter }: PickerState): readonly SessionSummary[] {
  const words = filter.toLowerCase().split(" ").filter(Boolean)
  return sessions.filter(({ title, preview, id, source }) => {
    const text = `${title ?? ""}\n${preview}\n${id}\n${source}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

export function press(state: PickerState, key: Key): Pressed {
  const quiet = { ...state, message: "" }
  switch (state.mode.kind) {
    case "list":
      return pressInList(quiet, key)
    case "delete":
      return { state: list(quiet), wish: key.text.toLowerCase() === "y" ? state.mode : NONE }
    case "rename":
      return pressInTitle(quiet, state.mode, key)
    default:
      return assertNever(state.mode)
  }
}

const NONE: PickerWish = { kind: "none" }

function list(state: PickerState): PickerState {
  return { ...state, mode: { kind: "list" } }
}

function pressInList(state: PickerState, key: Key): Pressed {
  const found = matching(state)
  const chosen = found[state.selected]
  const move = (selected: number): Pressed => ({
    state: { ...state, selected: Math.max(0, Math.min(selected, found.length - 1)) },
    wish: NONE,
  })
  const filter = (text: string): Pressed => ({ state: { ...state, filter: text, selected: 0 }, wish: NONE })
  if (key.name === "escape" || (key.ctrl === true && key.name === "c")) return { state, wish: { kind: "leave" } }
  if (key.name === "return" || key.name === "enter") return pick(state, chosen)
  if (key.name === "up") return move(state.selected - 1)
  if (key.name === "down") return move(state.selected + 1)
  if (key.name === "pageup") return move(state.selected - PAGE)
  if (key.name === "pagedown") return move(state.selected + PAGE)
  if (key.name === "home") return move(0)
  if (key.name === "end") return move(found.length - 1)
  if (key.name === "backspace") return filter(withoutLast(state.filter))
  if (key.ctrl === true && key.name === "u") return filter("")
  if (key.ctrl === true && key.name === "d" && chosen !== undefined) {
    return { state: { ...state, mode: { kind: "delete", id: chosen.id } }, wish: NONE }
  }
  if (key.ctrl === true && key.name === "r" && chosen !== undefined) {
    return { state: { ...state, mode: { kind: "rename", id: chosen.id, title: chosen.title ?? "" } }, wish: NONE }
  }
  if (!isTyped(key)) return { state, wish: NONE }
  if (state.filter === "" && /^[1-9]$/.test(key.text)) return pick(state, found[Number(key.text) - 1])
  return filter(state.filter + key.text)
}

function pick(state: PickerState, session: SessionSummary | undefined): Pressed {
  return { state, wish: session === undefined ? NONE : { kind: "pick", session } }
}

function pressInTitle(state: PickerState, mode: Extract<PickerState["mode"], { kind: "rename" }>, key: Key): Pressed {
  const typing = (title: string): Pressed => ({ state: { ...state, mode: { ...mode, title } }, wish: NONE })
  if (key.name === "escape" || (key.ctrl === true && key.name === "c")) return { state: list(state), wish: NONE }
  if (key.name === "return" || key.name === "enter") return { state: list(state), wish: mode }
  if (key.name === "backspace") return typing(withoutLast(mode.title))
  if (key.ctrl === true && key.name === "u") return typing("")
  return isTyped(key) ? typing(mode.title + key.text) : { state, wish: NONE }
}

function withoutLast(text: string): string {
  return Array.from(text).slice(0, -1).join("")
}

/** Pasted text comes as one; keys that write nothing have no text, or control characters. */
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

/** The whole screen, one entry for each line, none wider than the screen. */
export function drawPicker(state: PickerState, view: PickerView): readonly string[] {
  const found = matching(state)
  const room = Math.max(1, view.rows - FRAME_LINES)
  const first = Math.max(0, Math.min(state.selected - Math.floor(room / 2), found.length - room))
  const rows = found.slice(first, first + room).map((session, index) => {
    const place = first + index
    const mark = place === state.selected ? "›" : " "
    const digit = state.filter === "" && place < 9 ? String(place + 1) : " "
    const line = `${mark} ${digit} ${sessionRow(session, view)}`
    return place === state.selected ? bold(line, view.color) : line
  })
  const count = state.filter === "" ? counted(found.length, "session") : `${found.length} of ${state.sessions.length}`
  return [
    fitColumn(`Filter: ${state.filter}▏  (${count})`, view.columns),
    "",
    ...(rows.length === 0 ? [fitColumn("  No session has these words.", view.columns)] : rows),
    "",
    fitColumn(footer(state), view.columns),
  ]
}

/** Filter, footer and the blank lines beside them. */
const FRAME_LINES = 4

/** Mark and digit, each with a blank. */
const MARGIN = 4
const NARROW = 70

function sessionRow(session: SessionSummary, { columns, now }: PickerView): string {
  const { title, preview, source, lastActivity, messageCount } = session
  const facts =
    columns < NARROW
      ? ""
      : ` ${fitColumn(source, 9)} ${fitColumn(relativeTime(lastActivity, now), 10)} ${`${messageCount} msgs`.padStart(9)}`
  const room = Math.max(1, columns - MARGIN - facts.length)
  if (title === null || facts === "") return fitColumn(title ?? preview, room) + facts
  const titleWidth = Math.min(32, Math.floor(room / 2))
  return `${fitColumn(title, titleWidth)} ${fitColumn(preview, room - titleWidth - 1)}${facts}`
}

function footer(state: PickerState): string {
  switch (state.mode.kind) {
    case "list":
      return state.message === ""
        ? "Enter continues · type to filter · Ctrl+R renames · Ctrl+D deletes · Esc leaves"
        : oneLine(state.message)
    case "delete":
      return `Delete ${state.mode.id} for good? y deletes it, any other key keeps it.`
    case "rename":
      return `Title: ${state.mode.title}▏  (Enter keeps it, Esc leaves the old one)`
    default:
      return assertNever(state.mode)
  }
}
