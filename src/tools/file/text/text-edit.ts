/** A part of a text, in UTF-16 units. */
export interface TextRegion {
  readonly start: number
  readonly end: number
}

export interface Edit extends TextRegion {
  readonly text: string
}
