const FENCE = /^[ \t]*(?:```|~~~)/u
const MAX_PARAGRAPH_CHARS = 1500

/**
 * A message of the user, divided into what they wrote and what they quoted: code blocks, lines that begin with `>`, and paragraphs so
 * long that they were pasted. A quotation is text from outside.
 */
export function divideMessage(text: string): { readonly typed: string; readonly quoted: string } {
  const typed: string[] = []
  const quoted: string[] = []
  let isInFence = false
  for (const paragraph of text.split(/\n[ \t]*\n/u)) {
    const isPasted = paragraph.length > MAX_PARAGRAPH_CHARS
    for (const line of paragraph.split("\n")) {
      const isFence = FENCE.test(line)
      const isQuoted = isInFence || isFence || isPasted || /^[ \t]*>/u.test(line)
      if (isFence) isInFence = !isInFence
      ;(isQuoted ? quoted : typed).push(line)
    }
  }
  return { typed: typed.join("\n"), quoted: quoted.join("\n") }
}
