import type { Palette } from "./palette.ts"
import type { Screen } from "./screen-rows.ts"
import { CELL_WIDTH, createStyleClasses, LINE_HEIGHT, rowElements, size } from "./svg-row.ts"
import { cursorElement, svgWindow } from "./svg-window.ts"

export interface Frame {
  /** In milliseconds since the start of the recording. */
  readonly at: number
  readonly screen: Screen
}

export interface RecordingOptions {
  readonly columns: number
  readonly rows: number
  readonly palette: Palette
  readonly title: string
  readonly durationMs: number
}

/**
 * All frames side by side, and an animation that moves one after the other into the window. A row that several frames show is defined
 * once. Without animation, and for readers who prefer no motion, the last frame stays.
 */
export function svgRecording(frames: readonly Frame[], options: RecordingOptions): string {
  const { columns, palette, durationMs } = options
  const width = columns * CELL_WIDTH
  const classes = createStyleClasses()
  const ids = new Map<string, string>()
  const idOf = (elements: string): string => {
    const id = ids.get(elements) ?? `r${ids.size.toString(36)}`
    ids.set(elements, id)
    return id
  }
  const strips = frames.map(({ screen }, index) => {
    const rows = screen.rows.flatMap((row, at) => {
      const elements = rowElements(row, classes).join("")
      return elements === "" ? [] : [`<use href="#${idOf(elements)}" y="${at * LINE_HEIGHT}"/>`]
    })
    const cursor = screen.cursor === undefined ? [] : [cursorElement(screen.cursor, palette)]
    return `<g transform="translate(${size(index * width)})">${[...rows, ...cursor].join("")}</g>`
  })
  const last = `translate(-${size((frames.length - 1) * width)}px)`
  const steps = frames.map(
    ({ at }, index) =>
      `${Number(((100 * at) / durationMs).toFixed(3))}%{transform:translate(-${size(index * width)}px)}`,
  )
  const css = [
    classes.css(),
    `@keyframes film{${steps.join("")}100%{transform:${last}}}`,
    `#film{transform:${last};animation:film ${durationMs}ms steps(1,end) infinite}`,
    "@media (prefers-reduced-motion:reduce){#film{animation:none}}",
  ]
  const definitions = [...ids].map(([elements, id]) => `<g id="${id}">${elements}</g>`)
  const content = ["<defs>", ...definitions, "</defs>", '<g id="film">', ...strips, "</g>"]
  return svgWindow(content, { ...options, css: css.join("") })
}
