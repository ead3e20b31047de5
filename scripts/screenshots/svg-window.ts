import type { Palette } from "./palette.ts"
import { CELL_WIDTH, escapeXml, FONT_SIZE, LINE_HEIGHT, size } from "./svg-row.ts"

export interface WindowOptions {
  readonly columns: number
  readonly rows: number
  readonly palette: Palette
  /** What the picture shows, for screen readers. */
  readonly title: string
  readonly css: string
}

const TITLE_BAR = 34
const MARGIN = 18

/** The window of a terminal around elements whose origin is the upper left corner of the first cell. */
export function svgWindow(content: readonly string[], options: WindowOptions): string {
  const { palette, title, css } = options
  const width = Math.round(options.columns * CELL_WIDTH + 2 * MARGIN)
  const height = TITLE_BAR + MARGIN + options.rows * LINE_HEIGHT + MARGIN
  const dots = ["#e06c75", "#e5c07b", "#98c379"].map(
    (color, index) => `<circle cx="${MARGIN + 4 + index * 20}" cy="${TITLE_BAR / 2}" r="6" fill="${color}"/>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>text{white-space:pre;font-size:${FONT_SIZE}px;font-family:${FONTS}}${css}</style>`,
    `<rect width="${width}" height="${height}" rx="10" fill="${palette.background}"/>`,
    `<path d="M0 ${TITLE_BAR}V10a10 10 0 0 1 10-10H${width - 10}a10 10 0 0 1 10 10V${TITLE_BAR}z" fill="${palette.titleBar}"/>`,
    `<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="10" fill="none" stroke="#808892" stroke-opacity=".4"/>`,
    ...dots,
    `<svg x="${MARGIN}" y="${TITLE_BAR + MARGIN}" width="${size(options.columns * CELL_WIDTH)}" height="${options.rows * LINE_HEIGHT}">`,
    ...content,
    "</svg>",
    "</svg>",
    "",
  ].join("\n")
}

const FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

/** The cursor as a block. */
export function cursorElement(
  { row, column }: { readonly row: number; readonly column: number },
  { foreground }: Palette,
): string {
  return `<rect x="${size(column * CELL_WIDTH)}" y="${row * LINE_HEIGHT + 1}" width="${CELL_WIDTH}" height="${LINE_HEIGHT - 2}" fill="${foreground}" fill-opacity=".55"/>`
}
