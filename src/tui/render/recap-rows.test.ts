import { expect, test } from "vitest"

import { colorTheme, plainTheme, readable } from "../../../test/fixtures/tui/themes.ts"
import type { Message } from "../../protocol/message.ts"
import { recapRows } from "./recap-rows.ts"

const OPTIONS = { theme: plainTheme, columns: 60 }
const call = (id: string): NonNullable<Extract<Message, { role: "assistant" }>["tool_calls"]>[number] => ({
  id,
  type: "function",
  function: { name: "terminal", arguments: "{}" },
})

test("exchanges with their tool calls as a count; system and tool messages are hidden", () => {
  const messages: readonly Message[] = [
    { role: "system", content: "system prompt" },
    { role: "user", content: "Fix\nthe bug" },
    { role: "assistant", content: "I look.", tool_calls: [call("a"), call("b")] },
    { role: "tool", content: "secret output", tool_call_id: "a", tool_name: "terminal" },
    { role: "user", content: "notice", synthetic: "background" },
    { role: "assistant", content: "Done.\n\nIt was one line.\u{1B}[2J\nthree\nfour" },
    { role: "user", content: [{ type: "text", text: "Thanks" }] },
    { role: "assistant", content: null, tool_calls: [call("c")] },
  ]
  expect(recapRows(messages, OPTIONS)).toEqual([
    "❯ Fix the bug",
    "⚕ Done.",
    "  It was one line.",
    "  three…",
    "  [2 tool calls]",
    "❯ Thanks",
    "⚕ [1 tool call]",
  ])
})

test("a message without an answer says so, in the middle and at the end", () => {
  const messages: readonly Message[] = [
    { role: "user", content: "stopped at once" },
    { role: "user", content: "answered" },
    { role: "assistant", content: "Yes." },
    { role: "user", content: "cut off" },
    { role: "assistant", content: "" },
  ]
  expect(recapRows(messages, OPTIONS)).toEqual([
    "❯ stopped at once",
    "  [no answer]",
    "❯ answered",
    "⚕ Yes.",
    "❯ cut off",
    "  [no answer]",
  ])
})

test("answers are rendered, and a mark that was cut off is closed", () => {
  const content = `## Result\n\n- **one** and \`two\`\n- see [the page](https://example.org) **${"bold ".repeat(60)}**`
  const rows = recapRows([{ role: "assistant", content }], { theme: colorTheme, columns: 80 }).map(readable)
  expect(rows.slice(0, 3)).toEqual(expect.arrayContaining([expect.not.stringContaining("##")]))
  expect(rows.join("\n")).not.toMatch(/\*\*|##|\]\(|`/u)
  expect(rows.at(-1)).toMatch(/…/u)
})

test("long conversations and long messages", () => {
  const messages = Array.from({ length: 12 }, (_, index): readonly Message[] => [
    { role: "user", content: `question ${index} ${"x".repeat(500)}` },
    { role: "assistant", content: "y".repeat(500) },
  ]).flat()
  const rows = recapRows(messages, { ...OPTIONS, columns: 400 })
  expect(rows[0]).toBe("… 4 earlier messages …")
  expect(rows.filter((row) => row.startsWith("❯"))).toHaveLength(10)
  expect(rows[1]).toHaveLength(302)
  expect(rows[2]).toHaveLength(202)
  expect(recapRows([], OPTIONS)).toEqual([])
})
