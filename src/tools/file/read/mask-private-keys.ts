/**
 * Masks private keys before lines are selected and numbered, because a page that begins or ends inside a key would show lines that
 * cannot be recognised as secret. The number of lines stays the same.
 */
export function maskPrivateKeys(lines: readonly string[], redact: (text: string) => string): readonly string[] {
  const starts = lines.flatMap((line, index) => (BEGIN.test(line) ? [index] : []))
  if (starts.length === 0) return lines
  const masked = [...lines]
  for (const start of starts) {
    const end = endOfKey(lines, start)
    const block = lines.slice(start, end).join("\n")
    const redacted = redact(block)
    if (redacted === block) continue
    masked.fill("", start, end)
    masked[start] = redacted.replaceAll("\n", " ")
  }
  return masked
}

const BEGIN = /-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----/
const END = /-----END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----/
/** More than any real key has. Limits the search for the end line of each key. */
export const MAX_KEY_LINES = 400

/** The index after the key's last line; a key without an end line extends as far as its lines look like key data. */
function endOfKey(lines: readonly string[], start: number): number {
  const within = lines.slice(start, start + MAX_KEY_LINES)
  const end = within.findIndex((line) => END.test(line))
  if (end !== -1) return start + end + 1
  const other = within.findIndex((line, index) => index > 0 && !/^[A-Za-z0-9+/=]{16,}$/.test(line))
  return start + (other === -1 ? within.length : other)
}
