/** Placeholder of `git log` for the timestamp of the user message that a snapshot precedes. */
export const MESSAGE_TRAILER = "%(trailers:key=Message,valueonly,separator=)"

export function parseMessageTrailer(text: string): readonly number[] {
  const timestamp = Number(text.trim())
  return text.trim() === "" || !Number.isFinite(timestamp) ? [] : [timestamp]
}
