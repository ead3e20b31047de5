import { describe, expect, test } from "vitest"

import type { DefinedTool } from "../../toolkit/define-tool.ts"
import { readFile } from "../../tools/file/read-file.ts"
import { searchFiles } from "../../tools/file/search-files.ts"
import { writeFile } from "../../tools/file/write-file.ts"
import { terminal } from "../../tools/terminal/terminal.ts"
import { digestedCall, generalDigest } from "./result-digest.ts"

describe("the digest of a call", () => {
  const cases: readonly (readonly [DefinedTool, Readonly<Record<string, unknown>>, string, string])[] = [
    [
      terminal,
      { command: "npm test" },
      JSON.stringify({ output: "ok", exit_code: 0, error: null }),
      "[terminal] ran `npm test` -> exit 0, 1 lines output",
    ],
    [
      terminal,
      { command: "x".repeat(90) },
      "foo\nbar\n",
      `[terminal] ran \`${"x".repeat(77)}...\` -> exit ?, 3 lines output`,
    ],
    [
      terminal,
      { command: "cat <<EOF\n  a\nEOF" },
      JSON.stringify({ output: "a\nb", exit_code: 2 }),
      "[terminal] ran `cat <<EOF a EOF` -> exit 2, 2 lines output",
    ],
    [
      terminal,
      { command: "true" },
      JSON.stringify({ output: "", exit_code: 0 }),
      "[terminal] ran `true` -> exit 0, 0 lines output",
    ],
    [readFile, { path: "config.py" }, "x".repeat(1200), "[read_file] read config.py from line 1 (1,200 chars)"],
    [readFile, { path: "a", offset: 40 }, "x".repeat(1_234_567), "[read_file] read a from line 40 (1,234,567 chars)"],
    [writeFile, { path: "a.txt", content: "1\n2\n3" }, "{}", "[write_file] wrote to a.txt (3 lines)"],
    [writeFile, { path: "a.txt", content: " \n" }, "{}", "[write_file] wrote to a.txt (0 lines)"],
    [
      searchFiles,
      { pattern: "compress", path: "agent/" },
      JSON.stringify({ total_count: 12 }),
      "[search_files] content search for 'compress' in agent/ -> 12 matches",
    ],
    [
      searchFiles,
      { pattern: "*.ts", target: "files" },
      "cut",
      "[search_files] files search for '*.ts' in . -> ? matches",
    ],
  ]
  test.each(cases)("$name %j", (tool, args, result, line) => {
    expect(tool.runnable.digest?.({ tool: tool.name, args, result })).toBe(line)
  })
})

describe("the default digest", () => {
  test.each([
    ["mcp_x", { k: "v", m: "n", o: "p" }, "abc", "[mcp_x] k=v m=n (3 chars result)"],
    ["plain", {}, "", "[plain] (0 chars result)"],
    ["long", { text: "y".repeat(50) }, "x".repeat(1000), `[long] text=${"y".repeat(40)} (1,000 chars result)`],
    ["other", { list: [1, 2], text: "a\n  b" }, "r", "[other] list=[1,2] text=a b (1 chars result)"],
  ])("%s", (tool, args, result, line) => {
    expect(generalDigest({ tool, args, result })).toBe(line)
  })
})

test("arguments that do not parse are left out", () => {
  expect(digestedCall("t", { args: '{"a":1}', result: "r" })).toEqual({ tool: "t", args: { a: 1 }, result: "r" })
  expect(digestedCall("t", { args: '{"a":', result: "r" })).toEqual({ tool: "t", args: {}, result: "r" })
})
