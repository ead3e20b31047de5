/** One row of the screen: printable text with styles of the theme, no wider than the screen, without a newline. */
export type Row = string

export interface Size {
  readonly columns: number
  readonly rows: number
}

export interface Position {
  readonly row: number
  readonly column: number
}

/** What a component shows. Without a cursor it needs no input. */
export interface Drawing {
  readonly rows: readonly Row[]
  readonly cursor?: Position
}
