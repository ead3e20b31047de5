import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { expect, test } from "vitest"

import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp, RunRecord } from "../assembled-app.ts"

function script(app: AssembledApp, name: string, body: string): string {
  const path = join(app.home.workdir, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `#!/bin/sh\n${body}\n`)
  chmodSync(path, 0o755)
  return path
}

function results({ end }: RunRecord): string {
  return JSON.stringify(end.result.messages.filter(({ role }) => role === "tool"))
}

const BLOCKING = `cat > "$HERMES_HOME/seen.json"; echo '{"decision":"block","reason":"no reading here"}'`
const hooks = (entry: string) => `hooks:\n  pre_tool_call:\n    - ${entry}\n`

test("an approved hook blocks a call; it gets the call on stdin and no keys in its environment", async () => {
  await using app = await assembleApp([callsTool("read_file", { path: "a.txt" }), says("ok")], {
    config: `${hooks("{matcher: read, command: ./check.sh}")}hooks_auto_accept: true\n`,
    env: { OPENROUTER_API_KEY: "sk-or-canary-0123456789abcdef" },
    workFiles: { "a.txt": "content" },
  })
  script(app, "check.sh", `env > "$HERMES_HOME/environment"; ${BLOCKING}`)
  const run = await runToEnd(await app.open(), "read")
  expect(results(run)).toContain("no reading here")
  expect(JSON.parse(readFileSync(join(app.home.path, "seen.json"), "utf8"))).toMatchObject({
    hook_event_name: "pre_tool_call",
    tool_name: "read_file",
    tool_input: { path: "a.txt" },
    cwd: app.home.workdir,
  })
  expect(readFileSync(join(app.home.path, "environment"), "utf8")).not.toContain("canary")
})

test("a hook without consent is skipped with a warning", async () => {
  await using app = await assembleApp([callsTool("read_file", { path: "a.txt" }), says("ok")], {
    config: hooks("{command: ./check.sh}"),
    workFiles: { "a.txt": "content" },
  })
  script(app, "check.sh", BLOCKING)
  const run = await runToEnd(await app.open(), "read")
  expect(results(run)).toContain("content")
  expect(existsSync(join(app.home.path, "seen.json"))).toBe(false)
  expect(run.events).toContainEqual(
    expect.objectContaining({ kind: "warning", text: expect.stringContaining("not approved it") }),
  )
})

test("an unapproved fail_closed hook denies the calls that it would check, and only those", async () => {
  await using app = await assembleApp(
    [callsTool("read_file", { path: "a.txt" }), callsTool("search_files", { pattern: "content" }), says("ok")],
    {
      config: hooks("{matcher: read_file, command: ./check.sh --all, fail_closed: true}"),
      workFiles: { "a.txt": "content" },
    },
  )
  script(app, "check.sh", BLOCKING)
  const run = await runToEnd(await app.open(), "read")
  const [read, search] = run.events.filter((event) => event.type === "tool-end")
  expect(read).toMatchObject({ outcome: "blocked" })
  expect(search).toMatchObject({ outcome: "ok" })
  expect(results(run)).toContain("hermes hooks approve './check.sh --all'")
  expect(existsSync(join(app.home.path, "seen.json"))).toBe(false)
})

test.each([
  ["exit 3", "fail_closed: true", "failed: it exited with 3"],
  ["exit 3", "fail_closed: false", "content"],
  ["echo not json", "fail_closed: true", "not a JSON object"],
  ["sleep 30", "fail_closed: true, timeout: 0.2", "took longer than 0.2 s"],
])("a hook that does %j with %s", async (body, options, expected) => {
  await using app = await assembleApp([callsTool("read_file", { path: "a.txt" }), says("ok")], {
    config: `${hooks(`{command: ./check.sh, ${options}}`)}hooks_auto_accept: true\n`,
    workFiles: { "a.txt": "content" },
  })
  script(app, "check.sh", body)
  expect(results(await runToEnd(await app.open(), "read"))).toContain(expected)
})

const claude = (event: string, matcher: string, command: string) =>
  JSON.stringify({ hooks: { [event]: [{ matcher, hooks: [{ type: "command", command }] }] } })

test.each([
  [
    "exit code 2",
    `grep -q '"file_path":"a.txt"' && { echo "blocked by exit code" >&2; exit 2; }`,
    "blocked by exit code",
  ],
  [
    "permissionDecision deny",
    `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"denied by JSON"}}'`,
    "denied by JSON",
  ],
  ["permissionDecision allow", `echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'`, "content"],
  ["exit code 1", "exit 1", "content"],
])("a PreToolUse hook of Claude Code with %s", async (_name, command, expected) => {
  await using app = await assembleApp([callsTool("read_file", { path: "a.txt" }), says("ok")], {
    config: "hooks_claude_code: true\n",
    files: {
      "shell-hooks-allowlist.json": JSON.stringify({ approvals: [{ event: "pre_tool_call", command }] }),
    },
    workFiles: { "a.txt": "content", ".claude/settings.json": claude("PreToolUse", "Read|Write", command) },
  })
  expect(results(await runToEnd(await app.open(), "read"))).toContain(expected)
})

test("the hooks of a project need consent even where others are accepted without", async () => {
  await using app = await assembleApp([says("ok")], {
    config: "hooks_claude_code: true\nhooks_auto_accept: true\n",
    workFiles: { ".claude/settings.json": claude("UserPromptSubmit", "", 'touch "$CLAUDE_PROJECT_DIR/canary"') },
  })
  await runToEnd(await app.open(), "hi")
  expect(existsSync(join(app.home.workdir, "canary"))).toBe(false)
})

test("UserPromptSubmit adds context or refuses the message", async () => {
  const command = `grep -q secret && { echo "no secrets" >&2; exit 2; } || echo EXTRA-CONTEXT`
  await using app = await assembleApp([says("ok")], {
    config: "hooks_claude_code: true\n",
    files: { "shell-hooks-allowlist.json": JSON.stringify({ approvals: [{ event: "pre_llm_call", command }] }) },
    workFiles: { ".claude/settings.json": claude("UserPromptSubmit", "", command) },
  })
  const session = await app.open()
  const refused = await runToEnd(session, "my secret")
  expect(refused.end).toMatchObject({ outcome: "error", result: { error: { code: "hook_refused" } } })
  expect(app.model.requests).toHaveLength(0)
  await runToEnd(session, "hello")
  expect(JSON.stringify(app.model.requests[0])).toContain("EXTRA-CONTEXT")
})
