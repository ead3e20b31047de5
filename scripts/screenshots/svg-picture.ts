import type { Palette } from "./palette.ts"
import type { Screen } from "./screen-rows.ts"
import { trimmedRows } from "./screen-rows.ts"
import { createStyleClasses, LINE_HEIGHT, rowElements } from "./svg-row.ts"
import { cursorElement, svgWindow } from "./svg-window.ts"

export interface PictureOptions {
  readonly columns: number
  readonly palette: Palette
  readonly title: string
}

export function svgPicture(screen: Screen, { columns, palette, title }: PictureOptions): string {
  const classes = createStyleClasses()
  const shown = trimmedRows(screen.rows)
  const content = shown.flatMap((row, index) => {
    const elements = rowElements(row, classes)
    return elements.length === 0 ? [] : [`<g transform="translate(0 ${index * LINE_HEIGHT})">${elements.join("")}</g>`]
  })
  const cursor = screen.cursor === undefined ? [] : [cursorElement(screen.cursor, palette)]
  return svgWindow([...content, ...cursor], { columns, rows: shown.length, palette, title, css: classes.css() })
}
