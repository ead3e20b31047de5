import type { Choice } from "../../commands/choice-list.ts"
import { fitColumn, oneLine } from "../../terminal/text-layout.ts"
import { textColumns } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"
import type { Theme } from "../theme/theme.ts"
import type { ListLevel } from "./list-level.ts"
import { cutRow, entryRow, hintRow, SELECTED } from "./modal-rows.ts"

export interface ListArea {
  readonly columns: number
  readonly height: number
  readonly theme: Theme
}

/** The visible part of a list. The cost depends on the height, not on the number of choices. */
export function listRows<T>(level: ListLevel<T>, area: ListArea): readonly Row[] {
  const { columns, height, theme } = area
  const rows = stateRow(level) ?? choiceRows(level, area)
  const shown = typeof rows === "string" ? [hintRow(theme, `  ${rows}`, columns)] : rows
  return shown.slice(0, height)
}

/** How many rows the whole list would take. The area keeps this height while the user filters. */
export function wantedRows<T>({ choices }: ListLevel<T>): number {
  let headings = 0
  for (const [index, { group }] of choices.entries())
    if (group !== undefined && group !== choices[index - 1]?.group) headings += 1
  return Math.max(1, choices.length + headings)
}

function stateRow<T>({ state, matches, choices, list }: ListLevel<T>): string | undefined {
  if (state === "loading") return "Loading…"
  if (typeof state !== "string") return oneLine(state.problem)
  if (matches.length > 0) return undefined
  return choices.length === 0
    ? (list.emptyText ?? "The list is empty.")
    : "Nothing matches. Backspace changes the filter."
}

function choiceRows<T>(level: ListLevel<T>, { columns, height, theme }: ListArea): readonly Row[] {
  const { matches, selected } = level
  const window = visibleRange(level, height)
  const visible = matches.slice(window.first, window.end)
  const layout = columnLayout(visible, { columns, hasDigits: level.hasDigits && level.filter.text === "" })
  const rows: Row[] = []
  for (const [offset, choice] of visible.entries()) {
    const index = window.first + offset
    const { group } = choice
    if (group !== undefined && (offset === 0 || group !== visible[offset - 1]?.group))
      rows.push(theme.style("dim", cutRow(oneLine(group), columns)))
    const digit = index < MAX_DIGITS ? String(index + 1) : " "
    rows.push(entryRow(theme, choiceText(choice, layout, digit), { isSelected: index === selected, columns }))
  }
  return rows
}

const MAX_DIGITS = 9

/** The choices around the selected one that fit together with the headings of their groups. */
function visibleRange<T>(
  { matches, selected }: ListLevel<T>,
  height: number,
): { readonly first: number; readonly end: number } {
  const cost = (index: number, isFirst: boolean): number => {
    const { group } = matches[index] ?? {}
    return group !== undefined && (isFirst || group !== matches[index - 1]?.group) ? 2 : 1
  }
  let first = Math.max(0, selected - Math.floor(height / 2))
  first = Math.max(0, Math.min(first, matches.length - height))
  for (;;) {
    let used = 0
    let end = first
    while (end < matches.length && used + cost(end, end === first) <= height) {
      used += cost(end, end === first)
      end += 1
    }
    if (end > selected || first >= selected) return { first, end: Math.max(end, Math.min(first + 1, matches.length)) }
    first += 1
  }
}

interface ColumnLayout {
  readonly label: number
  readonly description: number
  /** The widths of the facts that fit. */
  readonly details: readonly number[]
  readonly hasDigits: boolean
  readonly hasCurrent: boolean
}

const MIN_LABEL = 20
const MIN_DESCRIPTION = 16
const MIN_DESCRIBED = 60
const GAP = 2

function columnLayout<T>(
  choices: readonly Choice<T>[],
  { columns, hasDigits }: { readonly columns: number; readonly hasDigits: boolean },
): ColumnLayout {
  const widest = (text: (choice: Choice<T>) => string | undefined): number =>
    Math.max(0, ...choices.map((choice) => textColumns(oneLine(text(choice) ?? ""))))
  const hasCurrent = choices.some(({ isCurrent }) => isCurrent === true)
  const room = Math.max(1, columns - SELECTED.length - (hasDigits ? 2 : 0) - (hasCurrent ? 2 : 0))
  const labels = widest(({ label }) => label)
  const details = detailWidths(choices, { widest, room, label: Math.min(labels, MIN_LABEL) })
  const left = room - details.reduce((sum, width) => sum + width + GAP, 0)
  const descriptions = widest(({ description }) => description)
  const label = Math.min(labels, Math.max(Math.floor(left / 2), left - descriptions - GAP))
  const rest = left - label - GAP
  const description = descriptions > 0 && rest >= MIN_DESCRIPTION && columns >= MIN_DESCRIBED ? rest : 0
  return { label: description === 0 ? left : label, description, details, hasDigits, hasCurrent }
}

/** Facts are shown while at least half of the row, or a short label, is left. */
function detailWidths<T>(
  choices: readonly Choice<T>[],
  view: {
    readonly widest: (text: (choice: Choice<T>) => string | undefined) => number
    readonly room: number
    readonly label: number
  },
): readonly number[] {
  const count = Math.max(0, ...choices.map(({ details = [] }) => details.length))
  const widths: number[] = []
  let used = 0
  for (let index = 0; index < count; index += 1) {
    const width = Math.min(
      view.widest(({ details }) => details?.[index]),
      Math.floor(view.room / 3),
    )
    used += width + GAP
    if (view.room - used < view.label) break
    widths.push(width)
  }
  return widths
}

function choiceText<T>(choice: Choice<T>, layout: ColumnLayout, digit: string): string {
  const { label, description, details } = layout
  return [
    layout.hasDigits ? `${digit} ` : "",
    layout.hasCurrent ? (choice.isCurrent === true ? "● " : "  ") : "",
    fitColumn(choice.label, label),
    description === 0 ? "" : `  ${fitColumn(choice.description ?? "", description)}`,
    ...details.map((width, index) => `  ${fitColumn(choice.details?.[index] ?? "", width)}`),
  ]
    .join("")
    .trimEnd()
}
