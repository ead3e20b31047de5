import { expect, test } from "vitest"

import { repairToolName } from "./tool-name-repair.ts"

const NAMES = ["read_file", "todo", "write_file", "terminal", "browser_click", "patch"]

test.each([
  ["read_file", "read_file"],
  ["TodoTool_tool", "todo"],
  ["Read-File", "read_file"],
  ["READ_FILE", "read_file"],
  ["write file", "write_file"],
  ["BrowserClick_tool", "browser_click"],
  ['terminal" parameter="command" string="true', "terminal"],
  ["terminal<arg>", "terminal"],
  ["reed_file", "read_file"],
  ["Patch_tool", "patch"],
  ["patch-tool", "patch"],
  ["xyz", undefined],
  ["", undefined],
])("%j means %s", (given, wanted) => {
  expect(repairToolName(given, NAMES)).toBe(wanted)
})

test("names are matched case-insensitively", () => {
  expect(repairToolName("mcp_github_listissues", ["mcp_GitHub_listIssues"])).toBe("mcp_GitHub_listIssues")
})

test("the closest of several similar names wins, from a similarity of 0.7 on", () => {
  expect(repairToolName("web_serch", ["web_extract", "web_search"])).toBe("web_search")
  // 7 of 10 characters each: 2·7/20.
  expect(repairToolName("abcdefgxyz", ["abcdefg123"])).toBe("abcdefg123")
  expect(repairToolName("abcdefwxyz", ["abcdef1234"])).toBeUndefined()
})

test("a tool that must not be guessed is found by another spelling, not by a similar name", () => {
  const names = ["mcp_mail_read", "mcp_mail_send", "read_file"]
  const guessable = (name: string): boolean => !name.startsWith("mcp_")
  expect(repairToolName("mcp_mail_sent", names)).toBe("mcp_mail_send")
  expect(repairToolName("mcp_mail_sent", names, guessable)).toBeUndefined()
  expect(repairToolName("MCP-mail-Send", names, guessable)).toBe("mcp_mail_send")
  expect(repairToolName("reed_file", names, guessable)).toBe("read_file")
})

test("a very long name is not compared", () => {
  expect(repairToolName("read_file".repeat(50_000), NAMES)).toBeUndefined()
})
