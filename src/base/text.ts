/** Length in Unicode code points: every limit shown to users counts these, not UTF-16 units. */
export function codePointLength(text: string): number {
  let length = 0
  for (const _ of text) length += 1
  return length
}

/** The first `max` code points; never splits a surrogate pair. */
export function takeCodePoints(text: string, max: number): string {
  if (text.length <= max) return text
  if (max <= 0) return ""
  let taken = 0
  let end = 0
  for (const character of text) {
    if (taken === max) return text.slice(0, end)
    taken += 1
    end += character.length
  }
  return text
}

/** Replaces lone surrogates with U+FFFD, since they cannot be encoded as UTF-8 in files, the database or HTTP. */
export function scrubSurrogates(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed()
}

/** Cuts to `max` code points; the ending replaces the last of them, so the result never exceeds the limit. */
export function ellipsize(text: string, max: number, ending = "..."): string {
  if (codePointLength(text) <= max) return text
  const room = max - codePointLength(ending)
  return room < 0 ? takeCodePoints(ending, max) : takeCodePoints(text, room) + ending
}
