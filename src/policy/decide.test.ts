import { expect, test } from "vitest"

import {
  commandCall,
  DIRECTORIES,
  outcomeOf,
  pathCall,
  policyCall,
  rule,
  rulesWith,
} from "../../test/fixtures/policy/policy-call.ts"
import { PERMISSION_PROFILES } from "../config/permission-profiles.ts"
import type { Walls } from "./commands/command-verdict.ts"
import { decide } from "./decide.ts"
import type { PolicyRequest } from "./policy-request.ts"
import type { ProfileDefinition, RuleLayer } from "./rules/permission-rules.ts"

const SANDBOX: Walls = { kind: "sandbox", network: "on", hosts: [], writable: ["/w"], isRestorable: () => true }
const command = async (line: string): Promise<PolicyRequest> => await commandCall(line)
const kinds = (call: PolicyRequest): readonly string[] =>
  PERMISSION_PROFILES.map((profile) => decide(call, rulesWith(profile)).kind)

test.each([
  ["reading", pathCall("read_file", "/w/a"), "allow allow allow allow allow"],
  ["internal agent call", policyCall("todo", "agent"), "allow allow allow allow allow"],
  ["writing inside", pathCall("write_file", "/w/a"), "deny allow allow allow allow"],
  ["writing outside", pathCall("write_file", "/x/a"), "deny ask ask ask allow"],
  ["writing outside through a link", pathCall("write_file", "/w/a", "/x/a"), "deny ask ask ask allow"],
  ["writing next to the root", pathCall("write_file", "/wx/a"), "deny ask ask ask allow"],
  ["harmless command", command("ls"), "deny allow ask allow allow"],
  ["harmless command in the sandbox", commandCall("ls", { more: { walls: SANDBOX } }), "allow allow allow allow allow"],
  ["risky command", command("rm -rf x"), "deny ask ask deny allow"],
  ["hardline command", command("rm -rf /"), "deny deny deny deny deny"],
  ["network", policyCall("x", "network"), "deny allow ask allow allow"],
  ["message", policyCall("x", "message"), "deny allow ask allow allow"],
  ["unknown effect", policyCall("x", "unknown"), "deny ask ask ask allow"],
  ["reading a secret", pathCall("read_file", "/w/.env"), "deny deny deny deny deny"],
  ["writing a key through a link", pathCall("write_file", "/w/k", "/home/alice/.ssh/id"), "deny deny deny deny deny"],
  ["unknown effect on a secret", policyCall("x", "unknown", pathsOf("/etc/passwd")), "deny deny deny deny deny"],
] as const)("%s under plan, default, accept-edits, auto, full-auto", async (_case, call, expected) => {
  expect(kinds(await call)).toEqual(expected.split(" "))
})

function pathsOf(path: string): Pick<PolicyRequest, "paths"> {
  return { paths: [{ literal: path, real: path }] }
}

const MY_SAFE_CODING: ProfileDefinition = {
  name: "my-safe-coding",
  rules: [rule("file:write:src/**", "allow"), rule("terminal:git push*", "ask"), rule("*", "auto")],
  scope: "session",
  inheritable: true,
  default: "detector",
}
const ASKING: ProfileDefinition = { ...MY_SAFE_CODING, name: "asking", rules: [], default: "ask" }

const cli = (...rules: RuleLayer["rules"]): readonly RuleLayer[] => [{ name: "cli", rules }]
const send = policyCall("send_message", "message", { subjects: [{ kind: "target", target: "telegram" }] })
const search = policyCall("web_search", "read", { toolset: "web", subjects: [{ kind: "query", query: "x" }] })
const click = policyCall("browser_click", "network", { toolset: "browser" })
const remember = policyCall("memory", "write", { toolset: "memory", action: "add" })
const SPLIT = cli(rule("terminal:git push*", "deny"), rule("terminal:git *", "allow"))
const HOME: readonly RuleLayer[] = [
  { name: "home", rules: [rule("terminal.*", "ask"), rule("file.write", "allow"), rule("browser.*", "deny")] },
]
const container = { more: { walls: { kind: "container" } } } as const

/** The evaluator vectors of the specification. */
test.each([
  ["default", [], command("ls"), "allow"],
  ["default", [], command("rm -rf build"), "ask"],
  ["default", SPLIT, command("git push origin"), "deny"],
  ["default", SPLIT, command("git status"), "allow"],
  [ASKING, cli(rule("terminal:git *", "allow")), command("git status && rm -rf x"), "ask"],
  [ASKING, cli(rule("terminal:git *", "allow")), command("git log $(curl x)"), "ask"],
  [ASKING, cli(rule("terminal:git *", "allow")), command("git status"), "allow"],
  ["accept-edits", cli(rule("file:write:src/**", "allow")), pathCall("write_file", "/w/src/a/b.ts"), "allow"],
  ["accept-edits", cli(rule("file:write:src/**", "allow")), pathCall("write_file", "/w/src/link", "/etc/x"), "hard"],
  ["accept-edits", [], pathCall("write_file", "/w/a.ts"), "allow"],
  ["accept-edits", [], pathCall("write_file", "/other/a.ts"), "ask"],
  ["accept-edits", [], command("ls"), "ask"],
  ["accept-edits", [], search, "allow"],
  ["accept-edits", [], send, "ask"],
  [
    "default",
    [
      { name: "platform", rules: [rule("*", "deny")] },
      { name: "profile", rules: [rule("read_file", "allow")] },
    ],
    pathCall("read_file", "/w/a"),
    "deny",
  ],
  [MY_SAFE_CODING, [], command("git push"), "ask"],
  [MY_SAFE_CODING, [], pathCall("write_file", "/w/src/x"), "allow"],
  [MY_SAFE_CODING, [], command("npm test"), "ask"],
  ["full-auto", [], command("rm -rf build"), "allow"],
  ["full-auto", [], command("rm -rf /"), "hard"],
  ["full-auto", [], command("ssh host rm -rf /"), "person"],
  ["default", cli(rule("terminal:*", "allow")), command("rm -rf build"), "ask"],
  ["default", cli(rule("terminal:*", "allow")), command("ls"), "allow"],
  ["default", cli(rule("terminal:rm -rf build", "allow")), command("rm -rf build"), "allow"],
  ["default", cli(rule("terminal:rm -rf build", "allow")), command("rm -rf build; ls"), "ask"],
  ["full-auto", cli(rule("network", "deny")), send, "deny"],
  ["plan", [], pathCall("read_file", "/w/a"), "allow"],
  ["plan", [], pathCall("write_file", "/w/a"), "PLAN"],
  ["plan", [], command("touch a"), "PLAN"],
  ["plan", [], search, "allow"],
  ["plan", [], policyCall("todo", "agent"), "allow"],
  ["plan", [], remember, "PLAN"],
  ["default", HOME, command("ls"), "ask"],
  ["default", HOME, pathCall("patch", "/w/a"), "allow"],
  ["default", HOME, click, "deny"],
  ["default", [], commandCall("rm -rf /", container), "allow"],
  ["default", cli(rule("terminal:rm *", "deny")), commandCall("rm -rf /", container), "deny"],
] as const)("evaluator vector %#", async (profile, layers, call, expected) => {
  expect(outcomeOf(await call, rulesWith(profile, layers))).toBe(expected)
})

test("a rule of plan mode cannot allow what plan mode denies", async () => {
  const rules = rulesWith("plan", cli(rule("*", "allow"), rule("terminal:touch a", "allow")))
  expect(outcomeOf(await command("touch a"), rules)).toBe("PLAN")
})

test("plan mode runs commands that only read, but sends nothing to a running program", async () => {
  const walled = await commandCall("ls -la", { more: { walls: SANDBOX } })
  expect([outcomeOf(walled, rulesWith("plan")), outcomeOf(await command("ls -la"), rulesWith("plan"))]).toEqual([
    "allow",
    "PLAN",
  ])
  expect(
    outcomeOf(await commandCall("ls", { more: { tool: "process", runsCommands: false } }), rulesWith("plan")),
  ).toBe("PLAN")
})

test("plan mode writes its plan and nothing else", () => {
  const rules = rulesWith("plan", [], { planFile: "/w/.hermes/plans/t.md" })
  expect([
    outcomeOf(pathCall("write_file", "/w/.hermes/plans/t.md"), rules),
    outcomeOf(pathCall("write_file", "/w/.hermes/plans/other.md"), rules),
    outcomeOf(pathCall("write_file", "/w/.hermes/plans/t.md", "/w/src/a.ts"), rules),
  ]).toEqual(["allow", "PLAN", "PLAN"])
})

test("plan mode reads the web only where the settings allow it", () => {
  expect(outcomeOf(search, rulesWith("plan", [], { planAllowsWeb: false }))).toBe("PLAN")
})

test("a workspace at the root of the file system contains everything", () => {
  const call = { ...pathCall("write_file", "/x/a"), directories: { ...DIRECTORIES, workspaceRoot: "/" } }
  expect(outcomeOf(call, rulesWith("accept-edits"))).toBe("allow")
})

test("a home behind a symbolic link is protected under its real path too", () => {
  const call = {
    ...pathCall("write_file", "/data/a/.ssh/id"),
    realDirectories: { ...DIRECTORIES, userHome: "/data/a" },
  }
  expect(outcomeOf(call, rulesWith("full-auto"))).toBe("hard")
})

test("command_allowlist allows the findings that it names, and only those", async () => {
  const rules = rulesWith("default", [], { allowedKeys: new Set(["recursive delete"]) })
  expect([
    outcomeOf(await command("rm -rf x"), rules),
    outcomeOf(await command("git reset --hard"), rules),
    outcomeOf(await command("rm -rf /"), rules),
  ]).toEqual(["allow", "ask", "hard"])
})

test("with unreadable rules every call is denied, except those that concern only the session", () => {
  const rules = rulesWith("full-auto", [], { unreadable: "config.yaml cannot be read" })
  expect([outcomeOf(pathCall("read_file", "/w/a"), rules), outcomeOf(policyCall("todo", "agent"), rules)]).toEqual([
    "deny",
    "allow",
  ])
})

test("a decision names its rule, layer and reason", async () => {
  const hard = decide(await command("rm -rf /"), rulesWith("full-auto"))
  expect([hard.kind, hard.hard, hard.layer, hard.rule]).toEqual([
    "deny",
    true,
    "floor",
    "recursive delete of root filesystem",
  ])
  expect(hard.reason).toMatch(/^BLOCKED \(hardline\): recursive delete of root filesystem\./)
  const denied = decide(await command("git push"), rulesWith("default", SPLIT))
  expect([denied.layer, denied.rule]).toEqual(["cli", "terminal:git push*"])
})

test("a tool that requires confirmation asks in every profile but plan and full-auto", () => {
  const restore = policyCall("checkpoint", "write", { confirm: "it restores files" })
  expect(kinds(restore)).toEqual(["deny", "ask", "ask", "ask", "allow"])
})

test("accept-edits asks only about commands without walls", async () => {
  const walls = { kind: "sandbox", network: "on", hosts: [], writable: ["/w"], isRestorable: () => true } as const
  const walled = await commandCall("npm test", { more: { walls } })
  expect([
    outcomeOf(walled, rulesWith("accept-edits")),
    outcomeOf(await command("npm test"), rulesWith("accept-edits")),
  ]).toEqual(["allow", "ask"])
})

test("the auto profile asks instead of denying where the settings say so", async () => {
  const risky = await command("rm -rf x")
  expect(
    ["ask", "deny"].map((escalation) =>
      outcomeOf(risky, rulesWith("auto", [], { escalation: escalation === "ask" ? "ask" : "deny" })),
    ),
  ).toEqual(["ask", "deny"])
})

test.each([
  ["git push origin main", "ask"],
  ["git -C sub push", "ask"],
  ["bash -c 'git push'", "ask"],
  ["npm publish", "ask"],
  ["gh pr create --fill", "ask"],
  ["gh api repos/a/b -f name=x", "ask"],
  ["ssh prod uptime", "ask"],
  ["scp a.txt prod:/tmp", "ask"],
  ["rsync -a dist/ prod:/srv", "ask"],
  ["curl -d a=1 https://api.example.com", "ask"],
  ["docker build .", "ask"],
  ["kubectl apply -f x.yaml", "ask"],
  ["terraform apply", "ask"],
  ["psql -h db.example.com -c 'select 1'", "ask"],
  ["git pull", "allow"],
  ["git push --dry-run", "allow"],
  ["npm publish --dry-run", "allow"],
  ["gh pr view 3", "allow"],
  ["scp prod:/tmp/a .", "allow"],
  ["rsync -a src/ copy/", "allow"],
  ["curl https://api.example.com", "allow"],
  ["curl -d a=1 http://localhost:3000", "allow"],
  ["docker ps", "allow"],
  ["kubectl get pods", "allow"],
  ["terraform plan", "allow"],
] as const)("accept-edits in the sandbox, %j: %s", async (line, expected) => {
  expect(outcomeOf(await commandCall(line, { more: { walls: SANDBOX } }), rulesWith("accept-edits"))).toBe(expected)
})

test("what acts on other machines is asked about where walls replace questions, and not in default", async () => {
  const push = await commandCall("git push origin main", { more: { walls: SANDBOX } })
  expect(kinds(push)).toEqual(["deny", "allow", "ask", "deny", "allow"])
})

test("a rule for the command answers the question about other machines", async () => {
  const push = await commandCall("git push origin main", { more: { walls: SANDBOX } })
  expect(outcomeOf(push, rulesWith("accept-edits", cli(rule("terminal:git push*", "allow"))))).toBe("allow")
})

test("without network, what needs it is not asked about, unless sockets are open", async () => {
  const asked = async (more: Partial<Walls>): Promise<string> =>
    outcomeOf(
      await commandCall("docker compose up -d", { more: { walls: { ...SANDBOX, network: "off", ...more } } }),
      rulesWith("accept-edits"),
    )
  expect([await asked({}), await asked({ sockets: true })]).toEqual(["allow", "ask"])
})
