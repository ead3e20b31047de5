import fc from "fast-check"
import { expect, test } from "vitest"

import { TOOL_MANIFEST } from "../../tools/manifest.generated.ts"
import { parsePattern } from "./parse-pattern.ts"
import { TOOL_NAMES } from "./selectors.ts"

const CALLS = {
  read: { tool: "read_file", toolset: "file", access: "read", isWebRead: false },
  write: { tool: "write_file", toolset: "file", access: "write", isWebRead: false },
  terminal: { tool: "terminal", toolset: "terminal", access: "exec", isWebRead: false },
  search: { tool: "web_search", toolset: "web", access: "read", isWebRead: true },
  click: { tool: "browser_click", toolset: "browser", access: "network", isWebRead: false },
  send: { tool: "send_message", toolset: "messaging", access: "message", isWebRead: false },
  server: { tool: "mcp_git_log", toolset: "mcp", server: "git", access: "network", isWebRead: false },
  added: { tool: "count_words", toolset: "word-count", plugin: "word-count", access: "read", isWebRead: false },
  todo: { tool: "todo", toolset: "todo", access: "agent", isWebRead: false },
} as const

test.each([
  ["*", "read write terminal search click send server added todo"],
  ["file", "read write"],
  ["file:read", "read"],
  ["file.write", "write"],
  ["terminal", "terminal"],
  ["terminal.*", "terminal"],
  ["browser.*", "click"],
  ["browser_*", "click"],
  ["read", "read search added"],
  ["write", "write"],
  ["exec", "terminal"],
  ["agent", "todo"],
  ["network", "click send server"],
  ["net", "search click send server"],
  ["message", "send"],
  ["web", "search"],
  ["mcp", "server"],
  ["mcp:git", "server"],
  ["mcp:other", ""],
  ["plugin", "added"],
  ["plugin:word-*", "added"],
  ["plugin:other", ""],
  ["read_file", "read"],
])("the pattern %s selects: %s", (text, expected) => {
  const pattern = parsePattern(text)
  if (!pattern.ok) throw new Error(pattern.error)
  const selected = Object.entries(CALLS).flatMap(([name, call]) => (pattern.value.selects(call) ? [name] : []))
  expect([selected.join(" "), pattern.value.argument]).toEqual([expected, undefined])
})

test.each([
  ["terminal:git push*", "git push*"],
  ["terminal:echo a:b", "echo a:b"],
  ["file:write:src/**", "src/**"],
  ["file.write:src/**", "src/**"],
  ["mcp:git:log", "log"],
  ["write:~/x", "~/x"],
])("the argument of %s is %s", (text, expected) => {
  const pattern = parsePattern(text)
  expect(pattern.ok && pattern.value.argument?.text).toBe(expected)
})

test.each([
  ["", /empty/],
  [
    "teminal:ls",
    /`teminal:ls` is not a permission pattern: there is no tool or class `teminal`; did you mean `terminal`\?/,
  ],
  ["terminal:", /nothing after the colon/],
  ["file:write:../x", /no `\.\.`/],
  ["*:x", /no tool or class `\*`/],
  ["terminal:a\nb", /line break/],
  ["constructor", /no tool or class/],
  [`terminal:${"x".repeat(3000)}`, /longer than/],
])("%j is refused with a sentence that names it", (text, message) => {
  const pattern = parsePattern(text)
  expect(pattern.ok ? "" : pattern.error).toMatch(message)
})

test("every tool of this release can be named in a pattern", () => {
  expect(Object.keys(TOOL_MANIFEST).filter((name) => !TOOL_NAMES.has(name))).toEqual([])
})

test("a pattern is parsed or refused, whatever it is", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((text) => `terminal:${text}`),
      ),
      (text) => {
        const pattern = parsePattern(text)
        if (pattern.ok) pattern.value.selects(CALLS.terminal)
        else expect(pattern.error).not.toBe("")
      },
    ),
  )
})
