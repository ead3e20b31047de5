import { describe, expect, test } from "vitest"

import { readDemoConversation } from "./conversation.ts"
import { hasFailed, reportCall } from "./tool-report.ts"

describe("reportCall", () => {
  const names = Array.from({ length: 14 }, (_, index) => `f${index}`)
  test.each([
    ["search_files", { pattern: "*" }, { total_count: 0, files: [] }, "I found no files."],
    ["search_files", { pattern: "*" }, { total_count: 2, files: ["a", "b"] }, "I found 2 files:\n\n- a\n- b"],
    [
      "search_files",
      { pattern: "*" },
      { total_count: 50, files: names, truncated: true },
      `I found 50 files:\n\n${names
        .slice(0, 12)
        .map((name) => `- ${name}`)
        .join("\n")}\n… and 38 more.`,
    ],
    ["search_files", { pattern: "x" }, { total_count: 0, matches: [] }, 'I found no match for "x".'],
    [
      "search_files",
      { pattern: "x" },
      {
        total_count: 2,
        matches: [
          { path: "a", line: 3, content: "  x = 1" },
          { path: "a", line: 9, content: "x" },
        ],
      },
      'I found 2 matches for "x" in 1 file:\n\n- a:3: x = 1\n- a:9: x',
    ],
    ["read_file", { path: "a" }, { content: "", total_lines: 0 }, "a is empty."],
    ["read_file", { path: "a" }, { content: "1|x\n2|  3|y", total_lines: 2 }, "a has 2 lines:\n\n```\nx\n  3|y\n```"],
    [
      "read_file",
      { path: "a" },
      { content: names.map((name, index) => `${index + 1}|${name}`).join("\n"), total_lines: 700 },
      `a has 700 lines:\n\n\`\`\`\n${names.slice(0, 12).join("\n")}\n\`\`\`\n… and 688 more.`,
    ],
    ["read_file", { path: "a" }, { error: "no such\nfile" }, "read_file (a) failed: no such file"],
    ["write_file", { path: "a" }, { bytes_written: 1, resolved_path: "/w/a" }, "I wrote 1 byte to /w/a."],
    ["patch", { path: "a" }, { success: true, diff: "-x\n+y\n" }, "I changed a:\n\n```\n-x\n+y\n```"],
    [
      "terminal",
      { command: "true" },
      { output: "", exit_code: 0, error: null },
      "`true` ended with exit code 0 and printed nothing.",
    ],
    [
      "terminal",
      { command: "ls x" },
      { output: "no x\n", exit_code: 2, error: null },
      "`ls x` ended with exit code 2 and printed:\n\n```\nno x\n```",
    ],
    [
      "terminal",
      { command: "rm -r -- a" },
      { output: "", exit_code: -1, error: "BLOCKED: denied", status: "blocked" },
      "terminal (rm -r -- a) was not allowed, so nothing was done: BLOCKED: denied",
    ],
    [
      "memory",
      { action: "add", target: "memory", content: "tea" },
      { success: true },
      'I added "tea" to memory; a new session will see it.',
    ],
    ["memory", { action: "add", content: "tea" }, { success: false, error: "full" }, "The call of memory failed: full"],
    [
      "memory",
      { action: "read" },
      { success: true, entries: ["tea", "milk"] },
      "Memory holds 2 notes:\n\n- tea\n- milk",
    ],
    ["memory", { action: "read" }, { success: true, entries: [] }, "Memory is empty."],
    ["todo", {}, { todos: [{ id: "1", content: "tea", status: "pending" }] }, "The list has 1 item:\n\n- tea"],
    ["clarify", { question: "?" }, { user_response: "The tour" }, "You answered: The tour"],
    ["other", {}, { x: 1 }, 'The call of other returned: {"x":1}'],
    ["write_file", { path: "a" }, {}, "write_file (a) returned: {}"],
  ])("%s %j → %j", (tool, args, result, text) => {
    expect(reportCall(callWith(tool, args, JSON.stringify(result)))).toBe(text)
  })

  test("notices after the JSON do not hide the result", () => {
    const shown = `${JSON.stringify({ output: 'a "}" b', exit_code: 0 })}\n\n[a notice for the model]`
    expect(reportCall(callWith("terminal", { command: "x" }, shown))).toBe(
      '`x` ended with exit code 0 and printed:\n\n```\na "}" b\n```',
    )
  })

  test("a result that is not JSON is quoted", () => {
    expect(reportCall(callWith("terminal", { command: "x" }, "{broken"))).toBe("terminal (x) returned: {broken")
    expect(reportCall(callWith("read_file", { path: "x" }, "{broken"))).toBe("read_file (x) returned: {broken")
  })

  test("a call without a result is reported as failed", () => {
    expect(reportCall(callWith("read_file", { path: "x" }, undefined))).toBe(
      "read_file (x) failed: no result came back",
    )
  })
})

describe("hasFailed", () => {
  test.each([
    [{ output: "", exit_code: 0, error: null }, false],
    [{ output: "", exit_code: 1, error: null }, true],
    [{ error: "x" }, true],
    [{ error: "" }, false],
    [{ success: false }, true],
    [{ status: "blocked" }, true],
    [{ files: [] }, false],
  ])("%j → %s", (result, failed) => {
    expect(hasFailed(callWith("terminal", {}, JSON.stringify(result)))).toBe(failed)
  })
})

function callWith(tool: string, args: unknown, content: string | undefined) {
  const made = { id: "demo_1", type: "function", function: { name: tool, arguments: JSON.stringify(args) } } as const
  const result = { role: "tool", tool_call_id: "demo_1", tool_name: tool } as const
  const { completedCalls } = readDemoConversation({
    model: "hermes-demo",
    system: "",
    tools: [],
    messages: [
      { role: "user", content: "x" },
      { role: "assistant", content: null, tool_calls: [made] },
      ...(content === undefined ? [] : [{ ...result, content }]),
    ],
  })
  return completedCalls[0]!
}
