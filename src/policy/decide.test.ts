import { expect, test } from "vitest"
import { decide } from "./decide.ts"
import type { Decision, PolicyRequest } from "./decide.ts"
import { PERMISSION_PROFILES } from "../config/permission-profiles.ts"
import { isPermissionProfile } from "./permission-profile.ts"
import type { PermissionProfile } from "./permission-profile.ts"

const directories = {
  userHome: "/home/a",
  hermesHome: "/home/a/.hermes",
  hermesRoot: "/home/a/.hermes",
  workspaceRoot: "/w",
}

const request = (access: PolicyRequest["access"], more: Partial<PolicyRequest> = {}): PolicyRequest => ({
  tool: "some_tool",
  access,
  subjects: [],
  paths: [],
  directories,
  ...more,
})
const command = (text: string): PolicyRequest =>
  request("exec", { tool: "terminal", subjects: [{ kind: "command", command: text }] })
const path = (access: PolicyRequest["access"], literal: string, real = literal): PolicyRequest =>
  request(access, { paths: [{ literal, real }] })

const decideUnder = (call: PolicyRequest, profile: PermissionProfile, granted: readonly string[] = []): Decision =>
  decide(call, { profile, granted: new Set(granted) })

const kinds = (call: PolicyRequest): readonly string[] =>
  PERMISSION_PROFILES.map((profile) => decideUnder(call, profile).kind)

test.each([
  ["reading", path("read", "/w/a"), ["allow", "allow", "allow", "allow", "allow"]],
  ["internal agent call", request("agent"), ["allow", "allow", "allow", "allow", "allow"]],
  ["writing inside", path("write", "/w/a"), ["deny", "allow", "allow", "allow", "allow"]],
  ["writing outside", path("write", "/x/a"), ["deny", "allow", "ask", "allow", "allow"]],
  ["writing outside through a link", path("write", "/w/a", "/x/a"), ["deny", "allow", "ask", "allow", "allow"]],
  ["writing next to the root", path("write", "/wx/a"), ["deny", "allow", "ask", "allow", "allow"]],
  ["harmless command", command("ls"), ["deny", "allow", "ask", "allow", "allow"]],
  ["risky command", command("rm -rf x"), ["deny", "ask", "ask", "ask", "allow"]],
  ["hardline command", command("rm -rf /"), ["deny", "deny", "deny", "deny", "deny"]],
  ["network", request("network"), ["deny", "allow", "ask", "allow", "allow"]],
  ["message", request("message"), ["deny", "allow", "ask", "allow", "allow"]],
  ["unknown effect", request("unknown"), ["deny", "ask", "ask", "ask", "allow"]],
  ["reading a secret", path("read", "/w/.env"), ["deny", "deny", "deny", "deny", "deny"]],
  ["writing a key through a link", path("write", "/w/k", "/home/a/.ssh/id"), ["deny", "deny", "deny", "deny", "deny"]],
  ["unknown effect on a secret", path("unknown", "/etc/passwd"), ["deny", "deny", "deny", "deny", "deny"]],
] as const)("%s under plan, default, accept-edits, auto, full-auto", (_case, call, expected) => {
  expect(kinds(call)).toEqual(expected)
})

test("a workspace at the root of the file system contains everything", () => {
  const call = { ...path("write", "/x/a"), directories: { ...directories, workspaceRoot: "/" } }
  expect(decideUnder(call, "accept-edits").kind).toBe("allow")
})

test("a home behind a symbolic link is protected under its real path too", () => {
  const call = { ...path("write", "/data/a/.ssh/id"), realDirectories: { ...directories, userHome: "/data/a" } }
  expect(decideUnder(call, "full-auto").kind).toBe("deny")
})

test("a grant allows only the rule it was given for", () => {
  expect(decideUnder(command("rm -rf x"), "default", ["recursive delete"])).toEqual({
    kind: "allow",
    rule: "recursive delete",
    layer: "session",
  })
  expect(decideUnder(command("git reset --hard"), "default", ["recursive delete"]).kind).toBe("ask")
  expect(decideUnder(command("rm -rf /"), "default", ["recursive delete of root filesystem"]).kind).toBe("deny")
  expect(decideUnder(command("rm -rf x"), "plan", ["recursive delete"]).kind).toBe("deny")
})

test("a decision names its rule and reason", () => {
  expect([decideUnder(command("rm -rf /"), "full-auto"), decideUnder(request("write"), "plan")]).toEqual([
    {
      kind: "deny",
      layer: "floor",
      rule: "recursive delete of root filesystem",
      reason: expect.stringMatching(/^BLOCKED \(hardline\): recursive delete of root filesystem\./),
    },
    { kind: "deny", layer: "plan", rule: "plan", reason: expect.stringMatching(/^PLAN_MODE_ACTIVE: /) },
  ])
})

test("a tool that requires confirmation asks in every profile but plan and full-auto", () => {
  const restore = { ...request("write"), confirm: "it restores files" }
  expect(PERMISSION_PROFILES.map((profile) => decideUnder(restore, profile).kind)).toEqual([
    "deny",
    "ask",
    "ask",
    "ask",
    "allow",
  ])
})

test("only the five built-in names are profiles", () => {
  expect(["plan", "full-auto", "yolo", "constructor"].map(isPermissionProfile)).toEqual([true, true, false, false])
})
