import { expect, test } from "vitest"
import { loosensProtection } from "./loosens-protection.ts"
import { settingEntries } from "./settings.ts"

const ALLOW = { pattern: "terminal:npm *", decision: "allow" }
const DENY = { pattern: "terminal:git push*", decision: "deny" }

test.each<[path: string, before: unknown, after: unknown, reason: RegExp]>([
  ["approvals.mode", "manual", "off", /every command/],
  ["approvals.mode", undefined, false, /every command/],
  ["approvals.mode", "manual", "smart", /model then decides/],
  ["approvals.mode", "plan", undefined, /without asking/],
  ["approvals.profile", null, "full-auto", /every command/],
  ["approvals.profile", "plan", "accept-edits", /changes files/],
  ["approvals.profile", "plan", null, /approvals\.mode/],
  ["approvals.profile", null, "my-own", /my-own/],
  ["approvals.profile", "my-own", "default", /without asking/],
  ["approvals", { mode: "manual" }, { mode: "off", timeout: 5 }, /every command/],
  ["approvals", { mode: "plan" }, undefined, /without asking/],
  ["approvals.rules", [], [ALLOW], /terminal:npm \*/],
  ["approvals.rules", [DENY], [], /git push\* *`? \(deny\)/],
  ["approvals.rules", [DENY], [{ ...DENY, decision: "ask" }], /no longer denied/],
  ["approvals.rules", [{ ...ALLOW, decision: "ask" }, DENY], [DENY, ALLOW], /without asking/],
  [
    "approvals.rules",
    [DENY, { pattern: "terminal", decision: "ask" }, ALLOW],
    [ALLOW, DENY, { pattern: "terminal", decision: "ask" }],
    /order/,
  ],
  ["approvals.rules", [{ ...ALLOW, directory: "/w" }], [ALLOW], /without asking/],
  ["approvals.rules", [ALLOW], [{ ...ALLOW, classifier: "none" }], /without asking/],
  ["approvals.rules.1", undefined, ALLOW, /without asking/],
  ["approvals.profiles.mine.default", "ask", "allow", /no rule mentions/],
  ["approvals.profiles", {}, { mine: { tool_rules: { "terminal:make *": "allow" } } }, /make/],
  ["approvals.profiles", { mine: { default: "deny" } }, { mine: { default: "detector" } }, /asks less/],
  ["approvals.platforms.cli.profile", "plan", "full-auto", /every command/],
  ["approvals.platforms", {}, { cli: { tool_rules: [ALLOW] } }, /npm/],
  ["command_allowlist", ["recursive delete"], ["recursive delete", "disk copy"], /: disk copy\./],
  ["approvals.headless_mode", "deny", "approve", /without a user/],
  ["approvals.audit.enabled", true, false, /audit\.jsonl/],
  ["terminal.sandbox", "auto", "off", /without the sandbox/],
  ["terminal.sandbox", undefined, false, /without the sandbox/],
  ["terminal.sandbox", "required", undefined, /no sandbox is available/],
  ["terminal.sandbox_network", "list", true, /every host/],
  ["terminal.sandbox_network", false, "list", /sandbox_hosts/],
  ["terminal.sandbox_hosts", ["a.example"], ["a.example", "b.example"], /to b\.example/],
  ["terminal.sandbox_write", [], "/srv", /\/srv/],
  ["terminal.sandbox_sockets", [], ["/run/docker.sock"], /docker\.sock/],
  ["terminal.env_passthrough", undefined, ["GITHUB_TOKEN"], /GITHUB_TOKEN/],
  ["terminal.backend", "docker", "local", /this machine/],
  ["terminal.backend", "local", "ssh", /no sandbox/],
  ["terminal", { sandbox: "auto" }, { sandbox: "off" }, /without the sandbox/],
  ["security.redact_secrets", true, "no", /Keys/],
  ["security.allow_private_urls", false, true, /private/],
  ["delegation.subagent_auto_approve", false, true, /sub-agents/],
  ["hooks_auto_accept", false, true, /hooks/],
  ["lsp.servers", {}, { rust: { trusted: true } }, /rust/],
  ["lsp.servers.rust.trusted", false, true, /rust/],
  ["mcp_servers.files", { command: "x" }, { command: "x", trust_annotations: true }, /files/],
])("%s from %j to %j loosens", (path, before, after, reason) => {
  expect(loosensProtection(path, before, after)).toMatch(reason)
})

test.each<[path: string, before: unknown, after: unknown]>([
  ["approvals.mode", "off", "manual"],
  ["approvals.mode", "manual", "manual"],
  ["approvals.mode", "manual", "accept-edits"],
  ["approvals.mode", "off", "smart"],
  ["approvals.profile", null, "plan"],
  ["approvals.profile", "full-auto", null],
  ["approvals.profile", "my-own", "plan"],
  ["approvals.profile", null, "default"],
  ["approvals.rules", [ALLOW], []],
  ["approvals.rules", [], [DENY]],
  ["approvals.rules", [ALLOW], [DENY, ALLOW]],
  ["approvals.rules", [{ ...DENY, decision: "ask" }], [DENY]],
  ["approvals.profiles", { mine: { default: "allow" } }, { mine: { default: "ask", inheritable: false } }],
  ["approvals.platforms.cli.profile", "full-auto", "plan"],
  ["command_allowlist", ["disk copy"], []],
  ["terminal.sandbox", "off", "required"],
  ["terminal.sandbox_network", true, false],
  ["terminal.sandbox_hosts", ["a.example", "b.example"], ["b.example"]],
  ["terminal.backend", "local", "docker"],
  ["security.redact_secrets", false, true],
  ["lsp.servers", { rust: { trusted: true } }, {}],
  ["mcp_servers.files", undefined, { command: "x" }],
  ["approvals", { mode: "plan", timeout: 5 }, { timeout: 9 }],
  ["display.skin", "a", "b"],
  ["model.default", "a", "b"],
  ["no.such.setting", 1, 2],
  ["constructor", 1, 2],
])("%s from %j to %j does not loosen", (path, before, after) => {
  expect(loosensProtection(path, before, after)).toBeUndefined()
})

/** Settings of the sections about protection whose values take nothing away. */
const NEUTRAL = [
  "approvals.timeout",
  "approvals.gateway_timeout",
  "approvals.auto_escalation",
  "approvals.audit.max_mb",
  "approvals.audit.keep",
  "security.website_blocklist.domains",
  "security.website_blocklist.shared_files",
  "security.allow_lazy_installs",
  "security.acked_advisories",
  "security.tirith_path",
  "security.tirith_timeout",
]

test("every setting about approvals, security and the sandbox is judged or known to be neutral", () => {
  const undecided = settingEntries()
    .filter(([key]) => /^(?:approvals|security|terminal\.sandbox)/u.test(key) && !NEUTRAL.includes(key))
    .filter(([key, { type, values, reserved }]) => {
      if (reserved === true) return false
      const probes: readonly unknown[] =
        type === "boolean"
          ? [true, false]
          : type === "enum"
            ? (values ?? [])
            : [[], ["x"], [ALLOW], {}, { a: { tool_rules: [ALLOW] } }, null, "full-auto", true, false]
      return !probes.some((before) => probes.some((after) => loosensProtection(key, before, after) !== undefined))
    })
  expect(undecided.map(([key]) => key)).toEqual([])
})
