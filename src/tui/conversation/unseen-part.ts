/**
 * Returns the part of the final answer that is not on the screen yet: all of it when it differs from the messages of the turn, what
 * was added to them, or nothing. An answer may span several messages.
 */
export function unseenPart(final: string, shown: readonly string[]): string {
  let seen = ""
  let unseen = final
  for (const text of shown.toReversed()) {
    seen = text + seen
    if (final.startsWith(seen.trimEnd())) unseen = final.slice(seen.trimEnd().length)
  }
  return unseen.trim() === "" ? "" : unseen.trimEnd()
}
