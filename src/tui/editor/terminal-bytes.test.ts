import { expect, test } from "vitest"

import { openEditor } from "../../../test/fixtures/tui/editor-harness.ts"
import { createKeyDecoder } from "../screen/decode-keys.ts"

/** What a terminal sends, decoded and typed into the editor. */
function typed(bytes: string) {
  const harness = openEditor()
  const decoder = createKeyDecoder()
  const events = [...decoder.feed(Buffer.from(bytes)), ...decoder.timeout()]
  const actions = events.flatMap((event) =>
    event.type === "key" || event.type === "paste" ? (harness.editor.key(event) ?? []) : [],
  )
  return { text: harness.marked(), actions: actions.map(({ type }) => type) }
}

test.each([
  [
    "new line with Alt+Enter, Ctrl+J, Shift+Enter and Ctrl+Enter",
    "a\u{1B}\rb\nc\u{1B}[13;2ud\u{1B}[13;5ue",
    "a\nb\nc\nd\ne|",
  ],
  ["word moves", "one two\u{1B}[1;5D\u{1B}b\u{1B}f\u{1B}[1;3C", "one two|"],
  ["deletions", "one two three\u{17}\u{1B}\u{7F}\u{1}\u{1B}d", "| "],
  ["undo and redo", "one two\u{1A}\u{1A}\u{19}", "one |"],
  ["a paste", "a\u{1B}[200~x\r\ny\u{1B}[201~b", "ax\nyb|"],
  ["a mouse report and a focus report", "a\u{1B}[<0;3;4M\u{1B}[Ib", "ab|"],
  ["a report whose beginning was lost", "a[<0;3;4Mb", "ab|"],
  ["wide and combining characters", "日e\u0301👩‍👩‍👧\u{7F}", "日e\u0301|"],
])("%s", (_case, bytes, text) => {
  expect(typed(bytes).text).toBe(text)
})

test.each([
  ["x\u{3}", "interrupt"],
  ["\u{4}", "leave"],
  ["\u{C}", "redraw"],
  ["\u{7}", "external-editor"],
  ["\u{1B}g", "external-editor"],
  ["\u{18}\u{5}", "external-editor"],
  ["\u{14}", "toggle-tasks"],
  ["\u{F}", "expand-output"],
  ["\u{16}", "paste-image"],
  ["\u{1B}v", "paste-image"],
  ["\u{1B}", "interrupt"],
  ["hi\r", "submit"],
])("%j: %s", (bytes, action) => {
  expect(typed(bytes).actions).toEqual([action])
})
