import { expect, test } from "vitest"

import { pathsOverlap, planBatch, type PlannedCall } from "./parallel-plan.ts"

const call = (parallel: PlannedCall["parallel"], access: PlannedCall["access"], ...paths: string[]): PlannedCall => ({
  parallel,
  access,
  paths: paths.map((path) => `/work/${path}`),
  argumentsValid: true,
})
const read = (...paths: string[]) => call("by-path", "read", ...paths)
const write = (...paths: string[]) => call("by-path", "write", ...paths)
const search = (path: string) => call("safe", "read", path)
const web = call("safe", "network")
const clarify = call("never", "agent")
const terminal = call("never", "exec")
const mcp = call("safe", "unknown")

test.each<[string, readonly PlannedCall[], "parallel" | "sequential"]>([
  ["no call", [], "sequential"],
  ["one call", [web], "sequential"],
  ["read_file a, read_file b", [read("a"), read("b")], "parallel"],
  ["read_file a twice", [read("a"), read("a")], "sequential"],
  ["write_file src, read_file src/a.py", [write("src"), read("src/a.py")], "sequential"],
  ["read_file a, write_file a/b", [read("a"), write("a/b")], "sequential"],
  ["read_file src/a, read_file src/ab", [read("src/a"), read("src/ab")], "parallel"],
  ["web_search twice", [web, web], "parallel"],
  ["web_search, clarify", [web, clarify], "sequential"],
  ["terminal twice", [terminal, terminal], "sequential"],
  ["read_file without path", [read(), web], "sequential"],
  ["read_file with an empty path", [{ ...read(), paths: [""] }, web], "sequential"],
  ["broken arguments", [web, { ...web, argumentsValid: false }], "sequential"],
  ["search_files a, write_file a/x", [search("a"), write("a/x")], "sequential"],
  ["write_file a/x, search_files a", [write("a/x"), search("a")], "sequential"],
  ["search_files b, write_file a/x", [search("b"), write("a/x")], "parallel"],
  ["search_files a, read_file a/x", [search("a"), read("a/x")], "parallel"],
  ["search_files a twice", [search("a"), search("a")], "parallel"],
  ["an MCP tool of a server that opted in, twice", [mcp, mcp], "parallel"],
  ["the third call conflicts with the first", [read("a"), read("b"), write("a")], "sequential"],
])("%s", (_name, calls, wanted) => {
  expect(planBatch(calls)).toBe(wanted)
})

test.each([
  ["/a/b", "/a/b", true],
  ["/a", "/a/b", true],
  ["/a/b", "/a/bc", false],
  ["/", "/a", true],
  ["/a/", "/a", true],
  ["C:\\a", "C:\\a\\b", true],
])("%s and %s overlap: %s", (a, b, wanted) => {
  expect(pathsOverlap(a, b)).toBe(wanted)
  expect(pathsOverlap(b, a)).toBe(wanted)
})
