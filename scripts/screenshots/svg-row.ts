import type { Cell, ScreenRow, Style } from "./screen-rows.ts"
import { isSameStyle } from "./screen-rows.ts"

export const CELL_WIDTH = 8.4
export const LINE_HEIGHT = 19
export const FONT_SIZE = 14
const BASELINE = 14
const MIDDLE = LINE_HEIGHT / 2

/** Gives every text style a short class name. */
export interface StyleClasses {
  nameOf(style: Style): string
  css(): string
}

export function createStyleClasses(): StyleClasses {
  const names = new Map<string, string>()
  return {
    nameOf: (style) => {
      const css = cssOf(style)
      const name = names.get(css) ?? `s${names.size.toString(36)}`
      names.set(css, name)
      return name
    },
    css: () => [...names].map(([css, name]) => `.${name}{${css}}`).join(""),
  }
}

function cssOf({ color, bold, dim, italic, underline, strikethrough }: Style): string {
  const lines = [underline ? "underline" : "", strikethrough ? "line-through" : ""].filter((line) => line !== "")
  return [
    `fill:${color}`,
    dim ? "opacity:.6" : "",
    bold ? "font-weight:bold" : "",
    italic ? "font-style:italic" : "",
    lines.length === 0 ? "" : `text-decoration:${lines.join(" ")}`,
  ]
    .filter((part) => part !== "")
    .join(";")
}

/** The elements of a row, with its upper left corner at the origin. */
export function rowElements(row: ScreenRow, classes: StyleClasses): readonly string[] {
  const placed = placedCells(row)
  return [...backgroundElements(placed), ...segments(placed).map((segment) => segmentElement(segment, classes))]
}

interface PlacedCell extends Cell {
  readonly column: number
}

function placedCells(row: ScreenRow): readonly PlacedCell[] {
  let next = 0
  return row.map((cell) => {
    const column = next
    next += cell.width
    return { ...cell, column }
  })
}

function backgroundElements(cells: readonly PlacedCell[]): readonly string[] {
  return grouped(cells, (a, b) => a.style.background === b.style.background).flatMap((group) => {
    const { column, width, background } = extentOf(group)
    return background === undefined
      ? []
      : [
          `<rect x="${size(column * CELL_WIDTH)}" width="${size(width * CELL_WIDTH)}" height="${LINE_HEIGHT}" fill="${background}"/>`,
        ]
  })
}

function extentOf(group: readonly PlacedCell[]) {
  const [first] = group
  return {
    column: first?.column ?? 0,
    width: group.reduce((sum, cell) => sum + cell.width, 0),
    background: first?.style.background,
  }
}

/** Cells that one element draws. Fonts differ in the width of characters outside ASCII, so each of those is placed by itself. */
function segments(cells: readonly PlacedCell[]): readonly (readonly PlacedCell[])[] {
  return grouped(cells, (a, b) => {
    if (!isSameStyle(a.style, b.style)) return false
    return isDrawn(a) || isDrawn(b) ? a.text === b.text : isPlain(a) && isPlain(b)
  })
    .flatMap(splitAtGaps)
    .filter((group) => group.some(({ text, style }) => text !== " " || style.underline))
}

function splitAtGaps(group: readonly PlacedCell[]): readonly (readonly PlacedCell[])[] {
  if (group[0]?.style.underline === true) return [group]
  const parts: PlacedCell[][] = [[]]
  for (const [index, cell] of group.entries()) {
    const isGap = cell.text === " " && (group[index - 1]?.text ?? " ") === " "
    if (isGap) parts.push([])
    else parts.at(-1)?.push(cell)
  }
  return parts.map((part) => part.slice(0, part.findLastIndex(({ text }) => text !== " ") + 1))
}

function isPlain({ text }: Cell): boolean {
  return /^[ -~]$/u.test(text)
}

/** Lines and blocks that must touch their neighbours. */
function isDrawn({ text }: Cell): boolean {
  return Object.hasOwn(SHAPES, text)
}

const SHAPES: Readonly<Record<string, (x: number, width: number) => string>> = {
  "─": (x, width) => `<path d="M${size(x)} ${MIDDLE}${box(width, 1)}"`,
  "│": (x) => `<path d="M${size(x + CELL_WIDTH / 2)} 0${box(1, LINE_HEIGHT)}"`,
  "┊": (x) => `<path d="${[1, 6, 11, 16].map((y) => `M${size(x + CELL_WIDTH / 2)} ${y}${box(1, 2.5)}`).join("")}"`,
  "█": (x, width) => `<path d="M${size(x)} 3${box(width, 13)}"`,
  "░": (x, width) => `<path d="M${size(x)} 3${box(width, 13)}" fill-opacity=".25"`,
}

function box(width: number, height: number): string {
  return `h${size(width)}v${size(height)}h-${size(width)}z`
}

function segmentElement(group: readonly PlacedCell[], classes: StyleClasses): string {
  const [first] = group
  if (first === undefined) return ""
  const { column, width } = extentOf(group)
  const style = `class="${classes.nameOf(first.style)}"`
  const shape = SHAPES[first.text]
  if (shape !== undefined) return `${shape(column * CELL_WIDTH, width * CELL_WIDTH)} ${style}/>`
  const text = escapeXml(group.map((cell) => cell.text).join(""))
  const x = size(column * CELL_WIDTH)
  // `textLength` keeps the columns aligned with any monospace font.
  if (isPlain(first))
    return `<text x="${x}" y="${BASELINE}" ${style} textLength="${size(width * CELL_WIDTH)}">${text}</text>`
  return `<text x="${size((column + width / 2) * CELL_WIDTH)}" y="${BASELINE}" ${style} text-anchor="middle">${text}</text>`
}

function grouped<T>(items: readonly T[], belongTogether: (a: T, b: T) => boolean): readonly (readonly T[])[] {
  const groups: T[][] = []
  for (const item of items) {
    const group = groups.at(-1)
    const last = group?.at(-1)
    if (group !== undefined && last !== undefined && belongTogether(last, item)) group.push(item)
    else groups.push([item])
  }
  return groups
}

export function size(value: number): string {
  return String(Number(value.toFixed(1)))
}

export function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
}
