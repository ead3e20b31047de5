import { expect, test } from "vitest"

import {
  commandCall,
  outcomeOf,
  pathCall,
  policyCall,
  rule,
  rulesWith,
} from "../../../test/fixtures/policy/policy-call.ts"
import type { PolicyRequest } from "../policy-request.ts"
import type { ProfileDefinition, RuleDecision } from "./permission-rules.ts"

const ASKING: ProfileDefinition = { name: "asking", rules: [], scope: "session", inheritable: true, default: "ask" }

function outcome(call: PolicyRequest, pattern: string, decision: RuleDecision): string {
  return outcomeOf(call, rulesWith(ASKING, [{ name: "cli", rules: [rule(pattern, decision)] }]))
}

/** With `deny`, one part of the call is enough. */
test.each([
  ["terminal:git push*", "git push origin"],
  ["terminal:git push*", "cd x && git push"],
  ["terminal:git push*", "sudo -u me git push"],
  ["terminal:git push*", "git 'push' origin"],
  ["terminal:git push*", "g''it push"],
  ["terminal:git push*", "/usr/bin/git push"],
  ["terminal:git push*", "git -C other push"],
  ["terminal:git push*", "git --no-pager -c a.b=c --git-dir=x push origin"],
  ["terminal:cargo publish*", "cargo +nightly publish"],
  ["terminal:git push*", "echo $(git push)"],
  ["terminal:git push*", "bash -c 'git push'"],
  ["terminal:git push*", "x=push; git $x"],
  ["terminal:git   push*", "git push"],
  ["terminal:sudo *", "sudo ls"],
  ["terminal:*--force*", "git push --force"],
  ["terminal:curl *", "curl"],
  ["terminal:a && b", "a && b"],
])("%s denies %s", async (pattern, line) => {
  expect(outcome(await commandCall(line), pattern, "deny")).toBe("deny")
})

/** With `allow`, every part must be covered. */
test.each([
  ["terminal:git *", "git status", "allow"],
  ["terminal:git *", "git status | git log", "allow"],
  ["terminal:git *", "git status | sh", "ask"],
  ["terminal:git *", "git log $(curl x)", "ask"],
  ["terminal:git *", "git log `curl x`", "ask"],
  ["terminal:ls *", "sudo ls /root", "ask"],
  ["terminal:sudo ls *", "sudo ls /root", "allow"],
  ["terminal:npm *", "timeout 60 npm test", "allow"],
  ["terminal:npm *", "PATH=/tmp/x npm test", "ask"],
  ["terminal:git *", "git diff > a.txt", "allow"],
  ["terminal:git *", "git diff > ~/.bashrc", "ask"],
  ["terminal:git *", "git diff 2>/dev/null", "allow"],
  ["terminal:git *", "$UNKNOWN status", "ask"],
  ["terminal:git *", "'git status", "ask"],
  ["terminal:rm -rf build && ls", "rm -rf build && ls", "allow"],
  ["terminal:rm -rf build && ls", "rm -rf build && ls -l", "ask"],
  ["terminal:*", "ls", "allow"],
] as const)("%s allows %s: %s", async (pattern, line, expected) => {
  expect(outcome(await commandCall(line), pattern, "allow")).toBe(expected)
})

test.each([
  ["file:write:src/**", "/w/src/a", "/w/src/a", "allow"],
  ["file:write:src/**", "/w/src/a", "/w/other/a", "ask"],
  ["file:write:src/**", "/w/other/a", "/w/src/a", "ask"],
  ["file:write:/w/src/**", "/w/src/a", "/w/src/a", "allow"],
  ["file:write:~/notes/*", "/home/alice/notes/a", "/home/alice/notes/a", "allow"],
  ["file:write:*", "/w/x/y", "/w/x/y", "allow"],
  ["write_file:a.ts", "/w/a.ts", "/w/a.ts", "allow"],
  ["read_file:a.ts", "/w/a.ts", "/w/a.ts", "ask"],
] as const)("%s allows %s -> %s: %s", (pattern, literal, real, expected) => {
  expect(outcome(pathCall("write_file", literal, real), pattern, "allow")).toBe(expected)
})

test("a denied path matches as written and with links resolved", () => {
  expect([
    outcome(pathCall("write_file", "/w/secret/a", "/w/x"), "file:write:secret/**", "deny"),
    outcome(pathCall("write_file", "/w/x", "/w/secret/a"), "file:write:secret/**", "deny"),
  ]).toEqual(["deny", "deny"])
})

test("a workspace behind a link matches relative patterns under both paths", () => {
  const call = pathCall("write_file", "/link/src/a", "/w/src/a")
  const directories = { ...call.directories, workspaceRoot: "/link" }
  const linked = { ...call, directories, realDirectories: call.directories }
  expect(outcome(linked, "file:write:src/**", "allow")).toBe("allow")
})

test.each([
  ["web:example.com", "https://example.com/x", "deny"],
  ["web:*.example.com", "https://a.example.com/x", "deny"],
  ["web:*.example.com", "https://example.com/x", "ask"],
  ["web:example.com", "https://evil.com/example.com", "ask"],
  ["web:example.com", "https://user@EXAMPLE.com:8080/", "deny"],
  ["web:https://example.com/a*", "https://example.com/abc", "deny"],
] as const)("%s with %s: %s", (pattern, url, expected) => {
  const call = policyCall("web_extract", "read", { toolset: "web", subjects: [{ kind: "url", url }] })
  expect(outcome(call, pattern, "deny")).toBe(expected)
})

test("the action of a tool is its argument", () => {
  const kill = policyCall("process", "exec", {
    toolset: "terminal",
    action: "kill",
    subjects: [{ kind: "name", name: "p1" }],
  })
  expect([outcome(kill, "process:kill", "deny"), outcome(kill, "process:write", "deny")]).toEqual(["deny", "ask"])
})
