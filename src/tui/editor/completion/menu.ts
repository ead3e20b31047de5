import { cutToColumns, fitColumn } from "../../../terminal/text-layout.ts"
import { textColumns } from "../../../terminal/text-width.ts"
import type { Row } from "../../drawing.ts"
import type { Theme } from "../../theme/theme.ts"
import type { Completion, Completions } from "./completion-source.ts"

/** A list of completions below the draft. */
export interface Menu {
  readonly completions: Completions
  /** Undefined until the user chooses, where the completions are optional. */
  readonly selected: number | undefined
  /** The first entry that is shown. */
  readonly top: number
}

const MAX_ROWS = 8
const MAX_LABEL_COLUMNS = 32

/** Undefined when there is nothing to choose. */
export function openMenu(completions: Completions): Menu | undefined {
  if (completions.items.length === 0) return undefined
  return { completions, selected: completions.isOptional === true ? undefined : 0, top: 0 }
}

/** Moves the selection; after the last entry comes the first. */
export function moveSelection(menu: Menu, by: 1 | -1): Menu {
  const count = menu.completions.items.length
  const selected = menu.selected === undefined ? (by === 1 ? 0 : count - 1) : (menu.selected + by + count) % count
  return { ...menu, selected, top: topFor(menu.top, selected) }
}

export function selectedItem({ completions, selected }: Menu): Completion | undefined {
  return selected === undefined ? undefined : completions.items[selected]
}

/** The entries around the selected one, with marks where there are more. */
export function menuRows(
  menu: Menu,
  { columns, maxRows, theme }: { readonly columns: number; readonly maxRows: number; readonly theme: Theme },
): readonly Row[] {
  const { items } = menu.completions
  const visible = Math.min(MAX_ROWS, maxRows, items.length)
  if (visible <= 0) return []
  const top = Math.min(topFor(menu.top, menu.selected ?? 0, visible), items.length - visible)
  const shown = items.slice(top, top + visible)
  const labelWidth = Math.min(
    MAX_LABEL_COLUMNS,
    Math.floor(columns / 2),
    Math.max(...shown.map((item) => textColumns(item.label ?? item.text))),
  )
  const width = columns - 1
  return shown.map((item, index) => {
    const isSelected = top + index === menu.selected
    const more =
      (index === 0 && top > 0 ? "↑" : "") || (index === visible - 1 && top + visible < items.length ? "↓" : "")
    const hasDetail = item.detail !== undefined && item.detail !== ""
    const label = item.label ?? item.text
    const mark = isSelected ? "❯" : more === "" ? " " : more
    const name = hasDetail ? fitColumn(label, labelWidth) : cutToColumns(label, width - 2)
    const detail = hasDetail ? cutToColumns(item.detail ?? "", width - 4 - labelWidth) : ""
    const shownName = theme.paint(isSelected ? "completion_menu_selected" : "completion_menu_text", `${mark} ${name}`)
    return detail === "" ? shownName : `${shownName}  ${theme.paint("completion_menu_detail", detail)}`
  })
}

function topFor(top: number, selected: number, visible = MAX_ROWS): number {
  if (selected < top) return selected
  return selected >= top + visible ? selected - visible + 1 : top
}
