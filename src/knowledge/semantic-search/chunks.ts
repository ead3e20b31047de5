/** Splits a text into chunks of up to 1,200 characters. Each repeats the last 150 of the one before, to keep sentences whole. */
export function splitIntoChunks(text: string): readonly string[] {
  const chunks: string[] = []
  let start = 0
  while (start + CHUNK_CHARS < text.length) {
    const end = chunkEnd(text, start)
    chunks.push(text.slice(start, end))
    start = characterBoundary(text, end - OVERLAP_CHARS)
  }
  const last = text.slice(start)
  return last.trim() === "" ? chunks : [...chunks, last]
}

const CHUNK_CHARS = 1200
const OVERLAP_CHARS = 150

/** Ends a chunk after its last whitespace, unless that would halve it. */
function chunkEnd(text: string, start: number): number {
  const end = start + CHUNK_CHARS
  const space = text.lastIndexOf(" ", end)
  const line = text.lastIndexOf("\n", end)
  const cut = Math.max(space, line) + 1
  return cut > start + CHUNK_CHARS / 2 ? Math.min(cut, end) : characterBoundary(text, end)
}

/** Moves an offset out of the middle of a surrogate pair. */
function characterBoundary(text: string, offset: number): number {
  const code = text.charCodeAt(offset)
  return code >= 0xdc00 && code <= 0xdfff ? offset - 1 : offset
}
