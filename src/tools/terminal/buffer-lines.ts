/** Regroups chunks so that each ends with a complete line; a very long line is passed on in large pieces. */
export async function* bufferLines(chunks: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  let open = ""
  for await (const chunk of chunks) {
    const text = open + chunk
    const lineEnd = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1
    const end = text.length - lineEnd > MAX_OPEN_CHARS ? text.length : lineEnd
    open = text.slice(end)
    if (end > 0) yield text.slice(0, end)
  }
  if (open !== "") yield open
}

const MAX_OPEN_CHARS = 8 * 1024
