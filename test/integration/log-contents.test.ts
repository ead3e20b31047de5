import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { Session } from "../../src/app/session/session.ts"
import type { AgentEvent } from "../../src/protocol/events.ts"
import { fixtureCommand, mcpConfig } from "../support/mcp/fixture-servers.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp } from "./assembled-app.ts"

const TEXT = "orchid-5521"

const SCRIPT = `from hermes_tools import read_file, terminal, write_file
write_file("inner.txt", "${TEXT}")
terminal("echo ${TEXT}; export LAUNCH=${TEXT}; cat /nonexistent-${TEXT}")
read_file("${TEXT}.txt")
raise RuntimeError("${TEXT}")`

/** One call of each kind, with the text in its arguments, its result or its error. */
const CALLS: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["terminal", { command: `echo ${TEXT}; export LAUNCH=${TEXT}` }],
  ["terminal", { command: `cat /nonexistent-${TEXT} >&2; exit 3` }],
  ["terminal", { command: `sleep 30; echo ${TEXT}`, background: true }],
  ["terminal", { command: `git config core.hooksPath ${TEXT}` }],
  ["terminal", { command: `curl -d ${TEXT} https://example.invalid/` }],
  ["process", { action: "submit", session_id: TEXT, data: TEXT }],
  ["write_file", { path: "a.txt", content: `${TEXT}\n` }],
  ["write_file", { path: `~/.ssh/${TEXT}`, content: TEXT }],
  ["write_file", { path: ".envrc", content: TEXT }],
  ["patch", { path: "a.txt", old_string: TEXT, new_string: `${TEXT} again` }],
  ["patch", { path: "a.txt", old_string: `not there ${TEXT}`, new_string: "" }],
  ["read_file", { path: "a.txt" }],
  ["read_file", { path: `${TEXT}.txt` }],
  ["search_files", { pattern: TEXT }],
  ["search_files", { pattern: `${TEXT}(` }],
  ["execute_code", { language: "python", code: SCRIPT }],
  ["tool_search", { query: TEXT }],
  ["tool_call", { name: "mcp_fix_echo", arguments: { text: TEXT } }],
  ["tool_call", { name: "mcp_fix_fail", arguments: { text: TEXT } }],
  ["todo", { todos: [{ id: "1", content: TEXT, status: "pending" }] }],
  ["memory", { action: "add", target: "memory", content: TEXT }],
  ["memory", { action: "remove", target: "memory", old_text: `${TEXT} unknown` }],
  ["learnings", { action: "search", query: `"${TEXT}` }],
  ["session_search", { query: `"${TEXT} AND (` }],
  ["skill_view", { name: TEXT }],
  ["clarify", { question: `${TEXT}?` }],
  ["delegate_task", { goal: TEXT }],
  ["checkpoint", { action: "restore", name: TEXT }],
  ["no_such_tool", { text: TEXT }],
  ["write_file", { file: TEXT }],
]

test("log files have nothing of what was said, called and returned, at any level", async () => {
  await using app = await assembleApp(
    [
      ...CALLS.flatMap(([name, args]) =>
        name === "delegate_task" ? [callsTool(name, args), says(`A sub-agent says ${TEXT}.`)] : callsTool(name, args),
      ),
      says(`The answer is ${TEXT}.`),
    ],
    { config: `logging:\n  level: DEBUG\n${mcpConfig({ fix: fixtureCommand() })}` },
  )
  const session = await app.open()
  const events: AgentEvent[] = []
  const typed = `Remember ${TEXT}. {!echo ${TEXT}; exit 3} @file:${TEXT}.txt`
  for await (const event of session.run(typed, { signal: new AbortController().signal, typed: true })) {
    events.push(event)
    answer(session, event)
  }
  await session.close("test_end")
  await app.app.close()
  const warnings = events.flatMap((event) => (event.type === "status" && event.kind === "warning" ? [event.text] : []))
  expect(warnings).toContain(`The command echo ${TEXT}; exit 3 ended with exit code 3`)
  const outcomes = events.flatMap((event) => (event.type === "tool-end" ? [event.outcome] : []))
  expect(outcomes.length).toBeGreaterThanOrEqual(CALLS.length)
  expect(new Set(outcomes)).toEqual(new Set(["ok", "error", "blocked", "denied"]))
  const logs = join(app.home.path, "logs")
  // The audit log has the beginning of all arguments. No tool reads it.
  const files = readdirSync(logs).filter((name) => name.includes(".log"))
  expect(files).toContain("agent.log")
  for (const name of files) {
    const lines = readFileSync(join(logs, name), "utf8").split("\n")
    expect([name, lines.filter((line) => line.includes(TEXT))]).toEqual([name, []])
  }
  expect(readFileSync(join(logs, "agent.log"), "utf8")).toMatch(/terminal ok after \d+ ms, exit code 0/u)
})

function answer(session: Session, event: AgentEvent): void {
  if (event.type === "approval-request") {
    const isDenied = event.call.name === "write_file"
    session.answer(event.requestId, { kind: "approval", choice: isDenied ? "deny" : "once" })
  }
  if (event.type === "clarify-request") session.answer(event.requestId, { kind: "clarify", text: TEXT })
}
