import { expect, test } from "vitest"

import { commandCall, rule, rulesWith } from "../../../test/fixtures/policy/policy-call.ts"
import { decide } from "../decide.ts"
import type { Walls } from "./command-verdict.ts"

const SANDBOX: Walls = { kind: "sandbox", network: "off", hosts: [], writable: ["/w"], isRestorable: () => true }
const WITH_HOOKS: Walls = { ...SANDBOX, gitStartsPrograms: true }
const PREPARE = { prepare: "husky || true", setup: "lefthook install", test: "vitest" }

async function decided(line: string, walls: Walls, profile = "default") {
  const request = await commandCall(line, { more: { walls }, scripts: PREPARE })
  return decide(request, rulesWith(profile))
}

test.each([
  ["husky", "husky"],
  ["npx husky init", "husky"],
  ["pnpm exec husky install", "husky"],
  ["cd sub && npx husky", "husky"],
  ["npm install", "husky"],
  ["npm ci --silent", "husky"],
  ["yarn", "husky"],
  ["npm run prepare", "husky"],
  ["npm run setup", "lefthook"],
  ["pre-commit install", "pre-commit"],
  ["uvx pre-commit install -t pre-push", "pre-commit"],
  ["npx lefthook install", "lefthook"],
  ["pre-commit autoupdate --freeze", "pre-commit settings"],
  ["uvx prek auto-update", "pre-commit settings"],
  ["bundle exec overcommit --install", "overcommit"],
  ["hk install", "hk"],
  ["asdf local nodejs 22.1.0", "asdf"],
  ["asdf set nodejs 22.1.0", "asdf"],
  ["mise use -q node@22", "mise"],
  ["proto pin node 22", "proto"],
  ["git submodule add https://example.com/x.git x", "git submodule"],
  ["git submodule update --init --recursive", "git submodule"],
])("in the sandbox %s asks, and the question names the rule %s", async (line, name) => {
  const decision = await decided(line, SANDBOX)
  expect([decision.kind, decision.keys]).toEqual(["ask", [name]])
  expect(decision.reason).toContain(`the rule "${name}" opens /w/`)
  expect((await decided(line, { kind: "none" })).keys).not.toContain(name)
})

test.each([
  "HUSKY=0 npm install",
  "npm install --ignore-scripts",
  "npm test",
  "npm run build",
  "echo husky",
  "git submodule status",
  "pre-commit run --all-files",
  "lefthook run pre-commit",
  "overcommit --run",
  "asdf current",
  "mise exec node@20 -- npm test",
  "mise ls",
  "git push -u origin main",
  "git remote add up https://example.com/x.git",
])("%s is not asked about because of protected files", async (line) => {
  expect((await decided(line, SANDBOX)).kind).toBe("allow")
})

test.each([
  ["git push -u origin main", "ask"],
  ["git remote add up https://example.com/x.git", "ask"],
  ["git branch --set-upstream-to=origin/main", "ask"],
  ["git config user.name x", "ask"],
  ["git push origin main", "allow"],
  ["git fetch", "allow"],
  ["git switch main", "allow"],
])("in a repository with hooks, %s: %s", async (line, kind) => {
  const decision = await decided(line, WITH_HOOKS)
  expect(decision.kind).toBe(kind)
  if (kind === "ask") expect(decision.rule).toBe("git settings")
})

test("a line that is not understood, or runs elsewhere, opens nothing", async () => {
  for (const line of ["npx husky; $x", "ssh host npx husky", "cd /elsewhere && npx husky", "sudo npx husky"]) {
    const { commands } = await commandCall(line)
    expect([line, commands.flatMap(({ opens }) => opens)]).toEqual([line, []])
  }
})

test.each([
  "tools/pre-commit install",
  "./node_modules/.bin/husky",
  "PATH=$PWD/tools:$PATH; pre-commit install",
  "export PATH=/w/tools; pre-commit install; export PATH=/usr/bin",
  "PATH=tools:/usr/bin pre-commit install",
  "env PATH=/w/tools pre-commit install",
  "hash -p /w/tools/pre-commit pre-commit; pre-commit install",
  "export NODE_OPTIONS='--require /w/x.js'; npx husky",
  "HOME=/w/hh git submodule update --init",
])("%s opens nothing: the program may be one that commands wrote", async (line) => {
  const { commands } = await commandCall(line)
  expect(commands.flatMap(({ opens }) => opens)).toEqual([])
})

test("the auxiliary model cannot open files, a rule that names exactly the call can", async () => {
  const auto = await decided("npx husky", SANDBOX, "auto")
  expect([auto.kind, auto.classifier]).toEqual(["ask", undefined])
  const request = await commandCall("npx husky", { more: { walls: SANDBOX } })
  const allowing = (pattern: string) => {
    const layers = [{ name: "settings", rules: [rule(pattern, "allow")] }] as const
    return decide(request, { ...rulesWith("default"), layers }).kind
  }
  expect([allowing("terminal:npx husky"), allowing("terminal:npx *"), allowing("terminal")]).toEqual([
    "allow",
    "ask",
    "ask",
  ])
  expect(decide(request, rulesWith("plan")).kind).toBe("deny")
})
