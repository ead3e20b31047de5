/** A recalled-memory block on lines of its own, as older writers appended it to what a person or model had said. */
const FENCED_BLOCK = /(?:^|\n)[ \t]*<memory-context>[ \t]*\n[\s\S]*?<\/memory-context>[ \t]*/gi

/**
 * Text without the memory blocks that an older writer left in it. Only complete blocks go: a message of ours that merely
 * mentions the tag must be replayed byte for byte, or the provider's prompt cache is lost.
 */
export function withoutMemoryFences(text: string): string {
  if (!/<memory-context>/i.test(text)) return text
  const scrubbed = text.replace(FENCED_BLOCK, "")
  return scrubbed === text ? text : scrubbed.trim()
}
