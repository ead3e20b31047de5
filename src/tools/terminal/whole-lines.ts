/** The same text in pieces that end with a line; a line that never ends is passed on in large pieces. */
export async function* wholeLines(chunks: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  let open = ""
  for await (const chunk of chunks) {
    const text = open + chunk
    const end = text.length > MAX_OPEN_CHARS ? text.length : Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1
    open = text.slice(end)
    if (end > 0) yield text.slice(0, end)
  }
  if (open !== "") yield open
}

const MAX_OPEN_CHARS = 8 * 1024
