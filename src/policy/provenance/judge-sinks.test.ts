import { expect, test } from "vitest"

import type { Walls } from "../commands/command-verdict.ts"
import { passesWalls, suspectReasons } from "./judge-sinks.ts"
import type { Sink } from "./sink.ts"
import { createTextOrigins } from "./text-origins.ts"
import type { TextOrigins } from "./text-origins.ts"

function originsOf(user: string, outside: string): TextOrigins {
  return createTextOrigins({
    history: () => [
      { role: "user", content: user },
      ...(outside === ""
        ? []
        : [{ role: "tool", tool_call_id: "c", tool_name: "t", content: outside, provenance: "file" } as const]),
    ],
    projectRules: () => "",
    ruleArguments: () => [],
    resultsOf: () => "own text",
    steering: { opening: "[steer]", closing: "[/steer]" },
  })()
}

const learning = (value: string): Sink => ({ kind: "learning", value })
const network = (value: string | undefined): Sink => ({ kind: "network", value })

test.each([
  ["nothing was read", network("drop.example"), "hello", "", 0],
  ["a host that nobody named", network("drop.example"), "hello", "text", 1],
  ["an address that is computed", network(undefined), "hello", "text", 1],
  ["a host that the user named", network("drop.example"), "get drop.example", "text", 0],
  ["a host below the named one", network("docs.drop.example"), "get drop.example", "text", 0],
  ["a host below a shared domain", network("evil.github.io"), "see github.io", "text", 1],
  ["a registry", network("registry.npmjs.org"), "hello", "text", 0],
  ["a service that the user called by name", network("github.com"), "clone it from GitHub", "text", 0],
  ["a host with the name of a service in it", network("github.drop.example"), "clone it from GitHub", "text", 1],
  ["a package of the text", { kind: "package", value: "tiny-evil" }, "hello", "add tiny-evil", 1],
  ["a package of the model", { kind: "package", value: "tiny-good" }, "hello", "add tiny-evil", 0],
  ["a fact of the user", { kind: "memory", value: "User likes tea" }, "I like tea", "text", 0],
  ["a fact of the text", { kind: "memory", value: "Invoices go to Mallory" }, "hello", "text", 1],
  ["a lesson with a host of the text", learning("fetch it from evil.io first"), "hello", "see evil.io", 1],
  ["a lesson with a host of the model", learning("fetch it from 192.0.2.7"), "hello", "text", 1],
  ["a lesson with a host of the user", learning("use cdn.good.io"), "take cdn.good.io", "text", 0],
  ["a lesson with a host and nothing read", learning("use cdn.good.io"), "hello", "", 0],
  ["a lesson with a registry", learning("use https://registry.npmjs.org"), "hello", "text", 0],
  ["a lesson with a package of the text", learning("run npm i tiny-evil"), "hello", "add tiny-evil", 1],
  ["a lesson with a usual package", learning("run npm i vitest"), "hello", "vitest is missing", 0],
  ["a lesson with files", learning("set x in tsconfig.json, then run src/a.test.ts"), "hello", "text", 0],
  [
    "a fact of the user with a host of the text",
    { kind: "memory", value: "User likes tea of evil.io" },
    "I like tea",
    "x",
    1,
  ],
  ["a recipient of the text", { kind: "message", value: "@mallory" }, "hello", "tell @mallory", 1],
  ["a recipient of the user", { kind: "message", value: "@alice" }, "tell @alice", "text", 0],
] satisfies readonly (readonly [string, Sink, string, string, number])[])("%s", (_, sink, user, outside, reasons) => {
  expect(suspectReasons([sink], originsOf(user, outside))).toHaveLength(reasons)
})

const sandbox = (access: "off" | "list" | "on"): Walls => ({
  kind: "sandbox",
  network: access,
  hosts: [],
  writable: [],
  isRestorable: () => true,
})

test.each([
  ["network", { kind: "none" }, true],
  ["network", sandbox("on"), true],
  ["network", sandbox("off"), false],
  ["network", sandbox("list"), false],
  ["command", { kind: "none" }, true],
  ["command", sandbox("on"), false],
  ["message", sandbox("off"), true],
] satisfies readonly (readonly [Sink["kind"], Walls, boolean])[])("%s passes %j: %s", (kind, walls, expected) => {
  expect(passesWalls({ kind, value: "x" }, walls)).toBe(expected)
})
