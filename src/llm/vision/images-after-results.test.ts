import { expect, test } from "vitest"
import type { Message, Part } from "../../protocol/message.ts"
import { createImageMover } from "./images-after-results.ts"

const RED: Part = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }
const BLUE: Part = { type: "image_url", image_url: { url: "data:image/png;base64,BB==" } }
const ASKED: Message = { role: "user", content: [{ type: "text", text: "look" }, RED] }
const CALLS: Message = { role: "assistant", content: null, tool_calls: [] }
const DONE: Message = { role: "assistant", content: "both are plain" }

function result(id: string, content: string | readonly Part[]): Message {
  return { role: "tool", tool_call_id: id, tool_name: "read_file", content }
}

function label(id: string): Part {
  return { type: "text", text: `[From the result of read_file (${id}), not from the person:]` }
}

test("the images of a round follow its last result, each with its call; the person's stay where they are", () => {
  const first = result("a", [{ type: "text", text: "red.png" }, RED])
  const plain = result("b", "no image")
  const third = result("c", [BLUE, { type: "text", text: "blue.png" }])
  expect(createImageMover()([ASKED, CALLS, first, plain, third, DONE])).toEqual([
    ASKED,
    CALLS,
    result("a", "red.png\n[image: it follows after the results]"),
    plain,
    result("c", "[image: it follows after the results]\nblue.png"),
    { role: "user", content: [label("a"), RED, label("c"), BLUE] },
    DONE,
  ])
})

test("a longer conversation begins with the same objects, and one without such images is the given one", () => {
  const move = createImageMover()
  const round = [ASKED, CALLS, result("a", [RED]), result("b", "text")]
  const before = move(round)
  const after = move([...round, DONE, CALLS, result("c", [BLUE])])
  expect(after).toHaveLength(9)
  for (const [index, message] of before.entries()) expect(after[index]).toBe(message)
  const plain = [ASKED, DONE]
  expect(move(plain)).toBe(plain)
})

test("a round of which a result was changed is put together anew", () => {
  const move = createImageMover()
  const [first, last] = [result("a", [RED]), result("b", [BLUE])]
  move([CALLS, first, last])
  expect(move([CALLS, result("a", "shortened"), last])).toEqual([
    CALLS,
    result("a", "shortened"),
    result("b", "[image: it follows after the results]"),
    { role: "user", content: [label("b"), BLUE] },
  ])
})
