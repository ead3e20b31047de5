import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { createTestHomeContext } from "../../../test/support/home-context.ts"
import type { TestHomeContext } from "../../../test/support/home-context.ts"
import { createExplainer } from "./explain.ts"
import type { Explanation, ExplainRequest } from "./explain.ts"

async function explain(context: TestHomeContext, request: ExplainRequest): Promise<Explanation> {
  const options = { profile: undefined, flags: { allow: [], deny: [] }, sandbox: "off", cwd: "/w" } as const
  const explainer = await createExplainer(context, options)
  if (!explainer.ok) throw new Error("no explainer")
  const explained = await explainer.value.explain(request)
  if (!explained.ok) throw new Error(explained.error)
  return explained.value
}

test.each([
  ["an object", { command: "rm -rf /" }, { decision: "deny", hard: true }],
  ["JSON text", '{"command": "rm -rf build"}', { decision: "ask", rule: "recursive delete" }],
  ["a harmless call", { command: "ls" }, { decision: "allow" }],
])("a call that tool_call passes on as %s is explained as that call", async (_case, given, expected) => {
  using context = createTestHomeContext()
  const request = { tool: "tool_call", args: { name: "terminal", arguments: given } }
  const explained = await explain(context, request)
  expect(explained).toMatchObject(expected)
  expect(explained.understood.tool).toBe("terminal")
})

test.each([
  ["write", "rm -rf /\n", { decision: "deny", hard: true }],
  ["submit", "rm -rf build", { decision: "ask", rule: "recursive delete" }],
  ["submit", "ls", { decision: "allow" }],
])("input for a process is explained without the id of a session: %s %j", async (action, data, expected) => {
  using context = createTestHomeContext()
  expect(await explain(context, { tool: "process", args: { action, data } })).toMatchObject(expected)
})

test.each([
  ["a long word", `echo ${"x".repeat(100_000)}`],
  ["many commands", Array.from({ length: 1500 }, (_, index) => `echo ${"word ".repeat(20)}${index}`).join("; ")],
  ["many words", `echo ${"word ".repeat(20_000)}`],
  ["many doubts", Array.from({ length: 90 }, (_, index) => `$x${index}${"y".repeat(900)}`).join("; ")],
])("the explanation of %s is cut to 48 KB and says so", async (_case, command) => {
  using context = createTestHomeContext()
  const explained = await explain(context, { command })
  expect(explained.understood.truncated).toBe(true)
  expect(JSON.stringify(explained.understood).length).toBeLessThanOrEqual(48 * 1024)
  expect(JSON.stringify(explained).length).toBeLessThanOrEqual(64 * 1024)
})

test("a short explanation is complete", async () => {
  using context = createTestHomeContext()
  const { understood } = await explain(context, { command: `echo ${"x".repeat(40_000)}` })
  expect([understood.truncated, understood.commands?.[0]?.argv[1]?.length]).toEqual([undefined, 40_000])
})

test.each([["cd ~/.aws || exit"], ["cd ~/.aws || return 1"], ["set -e; cd ~/.aws"]])(
  "after %j a command is explained in that directory",
  async (line) => {
    using context = createTestHomeContext()
    const explained = await explain(context, { command: "cat credentials", before: [line] })
    expect(explained).toMatchObject({ decision: "ask", rule: "read credentials" })
  },
)

test("the program of Hermes is protected from commands and file tools that work elsewhere", async () => {
  using context = createTestHomeContext()
  const own = import.meta.filename
  expect(await explain(context, { command: `echo x > ${own}` })).toMatchObject({
    decision: "ask",
    rule: "change the program of Hermes",
  })
  expect(await explain(context, { tool: "write_file", args: { path: own, content: "" } })).toMatchObject({
    decision: "deny",
    hard: true,
  })
})

test("lists and directories of the project are read to explain what a command does with the names in them", async () => {
  using context = createTestHomeContext()
  const cwd = join(context.home.path, "project")
  mkdirSync(join(cwd, "tpl/.vscode"), { recursive: true })
  writeFileSync(join(cwd, "tpl/.vscode/tasks.json"), "{}")
  writeFileSync(join(cwd, "keys"), "/etc/shadow\n")
  writeFileSync(join(cwd, "names"), "tpl/README.md\n")
  const decisions = async (...commands: readonly string[]): Promise<readonly string[]> =>
    await Promise.all(commands.map(async (command) => (await explain(context, { command, cwd })).decision))
  expect(await decisions("xargs cat < keys", "cat $(cat keys)", "cp -r tpl/. .")).toEqual(["ask", "ask", "ask"])
  expect(await decisions("xargs cat < names", "cat $(cat names)", "cp tpl/README.md .")).toEqual([
    "allow",
    "allow",
    "allow",
  ])
})
