import { existsSync, readFileSync } from "node:fs"
import { mkdtempDisposable } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, test } from "vitest"

import { parsePattern } from "../../../src/policy/rules/parse-pattern.ts"
import type { RulePattern } from "../../../src/policy/rules/permission-rules.ts"
import type { ToolOutcome } from "../../../src/protocol/tool.ts"
import { fixtureCommand, mcpConfig } from "../../support/mcp/fixture-servers.ts"
import type { FixtureOptions } from "../../support/mcp/fixture-servers.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

interface Row {
  readonly tool: string
  readonly args?: object
  /** How the server misbehaves. */
  readonly bad?: FixtureOptions["bad"]
  /** Settings of the server. */
  readonly entry?: object
  readonly profile?: string
  readonly deny?: string
  readonly allow?: string
  /** Nobody is present where this is false. */
  readonly attended?: boolean
  /** Answers to approvals and to questions, in this order. */
  readonly approval?: "once" | "deny"
  readonly answer?: string
  /** The model calls a built-in tool instead of a tool of the server. */
  readonly builtin?: { readonly name: string; readonly args: object }
}

interface Judged {
  readonly outcome: ToolOutcome
  /** How many approvals were asked for. */
  readonly asked: number
  /** The calls that reached the server. */
  readonly reached: readonly string[]
  readonly result: string
  readonly questions: readonly string[]
  /** Everything that the model was sent. */
  readonly sent: string
}

function patterns(text: string | undefined): readonly RulePattern[] {
  if (text === undefined) return []
  const parsed = parsePattern(text)
  if (!parsed.ok) throw new Error(parsed.error)
  return [parsed.value]
}

async function judge(row: Row): Promise<Judged> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "hermes-mcp-"))
  const log = join(scratch.path, "log")
  const call = row.builtin ?? { name: "tool_call", args: { name: `mcp_fix_${row.tool}`, arguments: row.args ?? {} } }
  const script = [callsTool("tool_search", { query: "text" }), callsTool(call.name, call.args), says("Done.")]
  const server = fixtureCommand({ bad: row.bad ?? "hostile", log })
  await using app = await assembleApp(script, {
    config: mcpConfig({ fix: { ...server, ...row.entry } }),
    workFiles: { "a.txt": "from the workspace\n" },
  })
  const session = await app.open({
    attended: row.attended ?? true,
    permissionProfile: row.profile ?? "default",
    permissionFlags: { allow: patterns(row.allow), deny: patterns(row.deny) },
  })
  let asked = 0
  const questions: string[] = []
  const { events } = await runToEnd(session, "go", (event) => {
    if (event.type === "approval-request") {
      asked += 1
      session.answer(event.requestId, { kind: "approval", choice: row.approval ?? "deny" })
    }
    if (event.type === "clarify-request") {
      questions.push(event.question)
      session.answer(event.requestId, { kind: "clarify", text: row.answer ?? "" })
    }
  })
  const end = events.findLast((event) => event.type === "tool-end")
  if (end === undefined) throw new Error("no tool was called")
  const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n") : []
  const bodies = await Promise.all(app.model.requests.map((_request, index) => app.model.received(index)))
  return {
    outcome: end.outcome,
    asked,
    reached: lines.flatMap((line) => (line.startsWith("call ") ? [line.slice(5)] : [])),
    result: app.model.toolResults(app.model.requests.length - 1)[0]?.text ?? "",
    questions,
    sent: JSON.stringify(bodies.map(({ body }) => body)),
  }
}

type Expected = Partial<Pick<Judged, "outcome" | "asked" | "reached">> & { readonly result?: RegExp }

const ROWS: readonly (readonly [string, Row, Expected])[] = [
  [
    "a call that the user approves is made",
    { tool: "peek", approval: "once" },
    { outcome: "ok", asked: 1, reached: ["peek"] },
  ],
  [
    "a rule for the tool spares the question",
    { tool: "peek", allow: "mcp:fix:peek" },
    { outcome: "ok", asked: 0, reached: ["peek"] },
  ],
  [
    "a rule against the server wins over full-auto",
    { tool: "peek", profile: "full-auto", deny: "mcp:fix" },
    { outcome: "blocked", asked: 0, reached: [] },
  ],
  [
    "a rule against one tool wins over a rule for its server",
    { tool: "peek", allow: "mcp:fix", deny: "mcp:fix:peek" },
    { outcome: "blocked", asked: 0, reached: [] },
  ],
  [
    "a rule for another tool of the server does not cover it",
    { tool: "peek", allow: "mcp:fix:echo" },
    { outcome: "denied", asked: 1, reached: [] },
  ],
  [
    "a rule for a server whose name is the beginning of this one does not cover it",
    { tool: "peek", allow: "mcp:fi" },
    { outcome: "denied", asked: 1, reached: [] },
  ],
  [
    "readOnlyHint on a tool that writes does not spare the question",
    { tool: "peek" },
    { outcome: "denied", asked: 1, reached: [] },
  ],
  [
    "readOnlyHint does not open plan mode",
    { tool: "peek", profile: "plan" },
    { outcome: "blocked", asked: 0, reached: [], result: /PLAN_MODE_ACTIVE/u },
  ],
  [
    "readOnlyHint does not replace an absent user",
    { tool: "peek", attended: false },
    { outcome: "denied", reached: [] },
  ],
  [
    "only the user who trusts the annotations lets it through, in plan mode too",
    { tool: "peek", profile: "plan", entry: { trust_annotations: true } },
    { outcome: "ok", asked: 0, reached: ["peek"] },
  ],
  [
    "a tool without the hint stays closed in plan mode",
    { tool: "fences", profile: "plan", entry: { trust_annotations: true } },
    { outcome: "blocked", reached: [] },
  ],
  [
    "a tool that the settings exclude cannot be called",
    { tool: "peek", profile: "full-auto", entry: { tools: { exclude: ["peek"] } } },
    { outcome: "error", reached: [] },
  ],
  [
    "a tool whose description has instructions cannot be called",
    { tool: "poisoned", bad: "poison", profile: "full-auto" },
    { outcome: "error", reached: [] },
  ],
  [
    "a tool named like a built-in does not replace it",
    { tool: "read_file", builtin: { name: "read_file", args: { path: "a.txt" } } },
    { outcome: "ok", asked: 0, reached: [], result: /from the workspace/u },
  ],
  [
    "a tool named like a built-in that reads is asked about",
    { tool: "read_file" },
    { outcome: "denied", asked: 1, reached: [] },
  ],
  [
    "a rule against the server covers its resources",
    { tool: "list_resources", profile: "full-auto", deny: "mcp:fix" },
    { outcome: "blocked", asked: 0 },
  ],
  [
    "an address of a resource is text for the server, so it is asked about",
    { tool: "read_resource", args: { uri: "memo://the-secret" } },
    { outcome: "denied", asked: 1 },
  ],
  [
    "reading a resource is refused in plan mode",
    { tool: "read_resource", args: { uri: "memo://the-secret" }, profile: "plan" },
    { outcome: "blocked", asked: 0 },
  ],
  ["listing resources sends nothing, so it is allowed", { tool: "list_resources" }, { outcome: "ok", asked: 0 }],
  [
    "sampling that the settings disable is refused",
    { tool: "sample", profile: "full-auto", entry: { sampling: { enabled: false } } },
    { reached: ["sample"], result: /error/u },
  ],
  [
    "a question without a user is declined",
    { tool: "password", profile: "full-auto", attended: false },
    { reached: ["password"], result: /decline/u },
  ],
]

test.each(ROWS)("%s", async (_case, row, expected) => {
  const { result, ...judged } = await judge(row)
  const { result: pattern = /./u, ...rest } = expected
  expect({ ...judged, result }).toMatchObject({ ...rest, result: expect.stringMatching(pattern) })
})

test("instructions in a description reach no request", async () => {
  const { sent } = await judge({ tool: "poisoned", bad: "poison", profile: "full-auto" })
  expect(sent).not.toContain("ignore all previous")
})

test("a result cannot end its label, and its control characters act on nothing", async () => {
  const { result, outcome } = await judge({ tool: "fences", profile: "full-auto" })
  expect(outcome).toBe("ok")
  expect(result.match(/<\/untrusted_tool_result>/gu)).toHaveLength(1)
  expect(result.match(/<untrusted_tool_result/gu)).toHaveLength(1)
  expect(result.trimEnd().endsWith("</untrusted_tool_result>")).toBe(true)
  // JSON escapes them.
  for (const character of ["\u001B", "\u0007"]) expect(result).not.toContain(character)
})

test("a question that imitates a password prompt names the server and warns", async () => {
  const { questions, sent } = await judge({ tool: "password", profile: "full-auto", answer: "Decline" })
  expect(questions).toHaveLength(1)
  const [question = ""] = questions
  expect(question).toMatch(/^The MCP server fix asks: \\u\{1B\}\[2J\[sudo\] password for root:/u)
  expect(question).toContain("Do not enter a password or a key.")
  for (const character of ["\u001B", "\r"]) expect(question).not.toContain(character)
  expect(sent).toContain("decline")
})
