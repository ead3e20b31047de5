import { expect, test } from "vitest"
import type { Message, Part } from "../../protocol/message.ts"
import { createToolImageMover } from "./tool-image-mover.ts"

const RED: Part = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }
const BLUE: Part = { type: "image_url", image_url: { url: "data:image/png;base64,BB==" } }
const QUESTION: Message = { role: "user", content: [{ type: "text", text: "look" }, RED] }
const CALLS: Message = { role: "assistant", content: null, tool_calls: [] }
const DONE: Message = { role: "assistant", content: "both are plain" }

function result(id: string, content: string | readonly Part[]): Message {
  return { role: "tool", tool_call_id: id, tool_name: "read_file", content }
}

function label(id: string): Part {
  return { type: "text", text: `[From the result of read_file (${id}), not from the user:]` }
}

test("the images of a round follow its last result with the id of their call; the user's images stay", () => {
  const first = result("a", [{ type: "text", text: "red.png" }, RED])
  const plain = result("b", "no image")
  const third = result("c", [BLUE, { type: "text", text: "blue.png" }])
  expect(createToolImageMover()([QUESTION, CALLS, first, plain, third, DONE])).toEqual([
    QUESTION,
    CALLS,
    result("a", "red.png\n[image: it follows after the results]"),
    plain,
    result("c", "[image: it follows after the results]\nblue.png"),
    { role: "user", content: [label("a"), RED, label("c"), BLUE] },
    DONE,
  ])
})

test("a longer conversation begins with the same objects; one without tool images is returned unchanged", () => {
  const move = createToolImageMover()
  const round = [QUESTION, CALLS, result("a", [RED]), result("b", "text")]
  const before = move(round)
  const after = move([...round, DONE, CALLS, result("c", [BLUE])])
  expect(after).toHaveLength(9)
  for (const [index, message] of before.entries()) expect(after[index]).toBe(message)
  const plain = [QUESTION, DONE]
  expect(move(plain)).toBe(plain)
})

test("a round with a changed result is rebuilt", () => {
  const move = createToolImageMover()
  const [first, last] = [result("a", [RED]), result("b", [BLUE])]
  move([CALLS, first, last])
  expect(move([CALLS, result("a", "shortened"), last])).toEqual([
    CALLS,
    result("a", "shortened"),
    result("b", "[image: it follows after the results]"),
    { role: "user", content: [label("b"), BLUE] },
  ])
})
