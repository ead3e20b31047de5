/** A recalled-memory block on its own lines, as older versions appended it to messages. */
const FENCED_BLOCK = /(?:^|\n)[ \t]*<memory-context>[ \t]*\n[\s\S]*?<\/memory-context>[ \t]*/gi

/**
 * Removes the memory blocks that older versions stored in messages. Removes only complete blocks: a message that merely mentions the
 * tag must be sent again byte for byte, or the provider's prompt cache is lost.
 */
export function stripMemoryFences(text: string): string {
  if (!/<memory-context>/i.test(text)) return text
  const scrubbed = text.replace(FENCED_BLOCK, "")
  return scrubbed === text ? text : scrubbed.trim()
}
