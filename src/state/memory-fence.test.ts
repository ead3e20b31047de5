import { expect, test } from "vitest"
import { stripMemoryFences } from "./memory-fence.ts"

test.each([
  ["question\n\n<memory-context>\n[note]\n\nlikes tea\n</memory-context>", "question"],
  ["<MEMORY-CONTEXT>\nx\n</Memory-Context>\ny", "y"],
  ["a\n<memory-context>\n1\n</memory-context>\nb\n<memory-context>\n2\n</memory-context>", "a\nb"],
  ["The <memory-context> tag is …", "The <memory-context> tag is …"],
  ["<memory-context>\nnever closed", "<memory-context>\nnever closed"],
  ["  no fence, spaces kept  ", "  no fence, spaces kept  "],
])("%j becomes %j", (stored, stripped) => {
  expect(stripMemoryFences(stored)).toBe(stripped)
})
