/** Long texts are found by their parts: 1,200 characters each, the last 150 repeated so that no sentence is lost in a cut. */
export function chunksOf(text: string): readonly string[] {
  const chunks: string[] = []
  let start = 0
  while (start + CHUNK_CHARS < text.length) {
    const end = goodEnd(text, start)
    chunks.push(text.slice(start, end))
    start = boundary(text, end - OVERLAP_CHARS)
  }
  const last = text.slice(start)
  return last.trim() === "" ? chunks : [...chunks, last]
}

const CHUNK_CHARS = 1200
const OVERLAP_CHARS = 150

/** Behind the last white space of the chunk, unless that would make it much shorter. */
function goodEnd(text: string, start: number): number {
  const end = start + CHUNK_CHARS
  const space = text.lastIndexOf(" ", end)
  const line = text.lastIndexOf("\n", end)
  const cut = Math.max(space, line) + 1
  return cut > start + CHUNK_CHARS / 2 ? Math.min(cut, end) : boundary(text, end)
}

/** Never between the halves of a surrogate pair. */
function boundary(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}
