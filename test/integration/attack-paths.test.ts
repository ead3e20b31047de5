import { readFileSync } from "node:fs"
import { resolve } from "node:path"

import { describe, expect, test } from "vitest"

import { runBatch } from "../../src/agent/dispatch/batch.ts"
import type { DispatchSession } from "../../src/agent/dispatch/dispatch-session.ts"
import { createShellMemory } from "../../src/agent/dispatch/shell-memory.ts"
import type { ShellMemory } from "../../src/agent/dispatch/shell-memory.ts"
import { contentText } from "../../src/protocol/message.ts"
import { understandCommand } from "../../src/policy/shell/understand-command.ts"
import { builtinEntries } from "../../src/toolkit/builtin-entries.ts"
import type { ToolContext, ToolEntry, ToolResult } from "../../src/toolkit/tool.ts"
import { BUILTIN_TOOLS } from "../../src/tools/builtins.ts"
import { TOOL_MANIFEST } from "../../src/tools/manifest.generated.ts"
import { createDispatchHarness, toolCall } from "../fixtures/agent/dispatch-harness.ts"
import type { DispatchHarness } from "../fixtures/agent/dispatch-harness.ts"

/** A line that must not run unasked. `before`: earlier lines of the same shell. */
interface Attack {
  readonly command: string
  readonly before?: readonly string[]
  readonly expect: "hard" | "stopped"
}

const ATTACKS: readonly Attack[] = readFileSync(
  new URL("../fixtures/permissions/attack-lines.jsonl", import.meta.url),
  "utf8",
)
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Attack)

interface Call {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

const terminal = (args: Call["args"]): Call => ({ tool: "terminal", args })
const input = (args: Call["args"]): Call => ({ tool: "process", args: { session_id: "proc_1", ...args } })
/** The same call for a process of its own. */
const inputOf = (process: string, call: Call): Call => {
  const { tool, args } = call
  const { arguments: inner } = args
  if (tool === "process") return { tool, args: { ...args, session_id: process } }
  return args["name"] === "process" && typeof inner === "object"
    ? { tool, args: { ...args, arguments: { ...inner, session_id: process } } }
    : call
}
const bridged = ({ tool, args }: Call): Call => ({ tool: "tool_call", args: { name: tool, arguments: args } })

/** Every way from a model to a shell: the calls that it makes, the last of which completes the line. */
const PATHS: Readonly<Record<string, (command: string) => readonly Call[]>> = {
  "the foreground": (command) => [terminal({ command })],
  "the background": (command) => [terminal({ command, background: true })],
  "a pseudo-terminal": (command) => [terminal({ command, pty: true })],
  "the background in a pseudo-terminal": (command) => [terminal({ command, background: true, pty: true })],
  "a line for a shell": (data) => [input({ action: "submit", data })],
  "text for a shell": (data) => [input({ action: "write", data: `${data}\n` })],
  "keys for a shell": (data) => [input({ action: "write", data: `${data}\r` })],
  "text for a shell in two parts": (data) => {
    const middle = Math.ceil(data.length / 2)
    return [
      input({ action: "write", data: data.slice(0, middle) }),
      input({ action: "submit", data: data.slice(middle) }),
    ]
  },
  "the bridge": (command) => [bridged(terminal({ command }))],
  // The text of a script does not show what it computes.
  "a script": (command) => [
    { tool: "execute_code", args: { code: `run("${Buffer.from(command).toString("base64")}")` } },
  ],
  "the background through the bridge": (command) => [bridged(terminal({ command, background: true }))],
  "a line for a shell through the bridge": (data) => [bridged(input({ action: "submit", data }))],
}

/** The built-in tools as they declare themselves; running them is only recorded, by the command or the process. */
function recordedTools(ran: (target: string) => void): ReadonlyMap<string, ToolEntry> {
  const entries = builtinEntries(TOOL_MANIFEST, BUILTIN_TOOLS).map((entry): ToolEntry => ({
    ...entry,
    load: async () => {
      const tool = await entry.load()
      return {
        ...tool,
        parse: (args) => {
          const parsed = tool.parse(args)
          if (!parsed.ok) return parsed
          const run = async (context: ToolContext): Promise<ToolResult> => {
            if (entry.role === "script") return await runScript(String(args["code"]), context)
            ran(String(args["command"] ?? args["session_id"]))
            return { content: { output: "" }, summary: "" }
          }
          return { ok: true, value: { ...parsed.value, run } }
        },
      }
    },
  }))
  return new Map(entries.map((entry) => [entry.name, entry]))
}

/** What a script with this text would call. */
async function runScript(code: string, { ports }: ToolContext): Promise<ToolResult> {
  const command = Buffer.from(/"(.*)"/u.exec(code)?.[1] ?? "", "base64").toString("utf8")
  return { content: { called: await ports.callTool?.call("terminal", { command }) }, summary: "" }
}

const HOME = "/home/alice"

/** A session in /w of the account of the corpus. Nothing of this machine is looked up. */
async function corpusSession(
  profile: "default" | "full-auto",
  ran: (target: string) => void,
): Promise<DispatchHarness & { readonly at: (shell: ShellMemory) => DispatchSession }> {
  const harness = await createDispatchHarness([], { profile })
  const { session } = harness
  const { workspace } = session
  const placed: DispatchSession = {
    ...session,
    tools: recordedTools(ran),
    // Scripts run in the sandbox, so nothing is asked about them; the commands that they call run without one.
    scriptWalls: () =>
      Promise.resolve({ kind: "sandbox", network: "on", hosts: [], writable: ["/w"], isRestorable: () => true }),
    workspace: {
      ...workspace,
      files: {
        ...workspace.files,
        resolve: (path) => resolve("/w", path),
        realPath: (path) => Promise.resolve(path),
        stat: () => Promise.resolve(undefined),
      },
    },
    policyDirectories: {
      workspaceRoot: "/w",
      userHome: HOME,
      hermesHome: `${HOME}/.hermes`,
      hermesRoot: `${HOME}/.hermes`,
    },
  }
  return {
    ...harness,
    at: (shell) => ({ ...placed, shell, workspace: { ...placed.workspace, cwd: () => shell.directory ?? "/w" } }),
  }
}

/** The shell after the earlier lines, which a session or a running process would have by then. */
function shellAfter(lines: readonly string[]): ShellMemory {
  const shell = createShellMemory("/w")
  for (const line of lines)
    shell.ran(understandCommand(line, shell.before(shell.directory), { userHome: HOME }), "kept")
  return shell
}

/** Attacks that need no earlier lines share a session, which is much faster: what is refused leaves no trace in it. */
const SHARED = 60

function sharing(attacks: readonly Attack[]): readonly (readonly Attack[])[] {
  const plain = attacks.filter(({ before }) => before === undefined)
  const groups = Array.from({ length: Math.ceil(plain.length / SHARED) }, (_group, index) =>
    plain.slice(index * SHARED, (index + 1) * SHARED),
  )
  return [...groups, ...attacks.filter(({ before }) => before !== undefined).map((attack) => [attack])]
}

/** Makes the calls, and returns the attacks whose last call ran, or was not refused as it should be. */
async function escaped(
  attacks: readonly Attack[],
  callsOf: (command: string) => readonly Call[],
  profile: "default" | "full-auto",
  adapt: (session: DispatchSession) => DispatchSession = (session) => session,
): Promise<readonly string[]> {
  const ran = new Set<string>()
  const harness = await corpusSession(profile, (target) => ran.add(target))
  await using _harness = harness
  const found: string[] = []
  for (const group of sharing(attacks)) {
    const isInput = callsOf("").some(({ args }) => JSON.stringify(args).includes("proc_1"))
    // A running shell has its own state: it gets the earlier lines the same way.
    const before = group[0]?.before ?? []
    const session = adapt(harness.at(shellAfter(isInput ? [] : before)))
    const earlier = isInput ? before.map((data) => input({ action: "submit", data })) : []
    const planned = group.map(({ command }, index) =>
      [...earlier, ...callsOf(command)].map((call) => inputOf(`proc_${index}`, call)),
    )
    const texts = group.map((): string[] => [])
    for (let step = 0; step < Math.max(...planned.map(({ length }) => length)); step += 1) {
      ran.clear()
      harness.recorded.length = 0
      const calls = planned.map((all) => all[step])
      const batch = runBatch(
        calls.flatMap((call, index) => (call === undefined ? [] : toolCall(String(index), call.tool, call.args))),
        session,
        harness.run,
      )
      while ((await batch.next()).done !== true);
      for (const { tool_call_id: id, content } of harness.recorded) texts[Number(id)]?.push(contentText(content))
    }
    found.push(
      ...group
        .filter(({ command, expect: expected }, index) => {
          const results = texts[index] ?? []
          const isHard = results.some((text) => /BLOCKED(?: \(hardline\))?:/u.test(text))
          const isRefused = !ran.has(isInput ? `proc_${index}` : command)
          // A part may be refused already; then the line was never complete.
          const wasStoppedEarlier = results.slice(0, -1).some((text) => text.includes('"blocked"'))
          const isAnswered = results.length === planned[index]?.length
          return !wasStoppedEarlier && (!isRefused || !isAnswered || (expected === "hard" && !isHard))
        })
        .map(({ command }) => command),
    )
  }
  return found
}

const RUINOUS = ATTACKS.filter(({ expect: expected }) => expected === "hard")
const RISKY = ATTACKS.filter(({ expect: expected }) => expected !== "hard")

describe.each(Object.entries(PATHS))("through %s", (_path, callsOf) => {
  test("no attack runs unasked", { timeout: 120_000 }, async () => {
    expect(RISKY.length).toBeGreaterThan(1500)
    expect(await escaped(RISKY, callsOf, "default")).toEqual([])
  })

  // The floor comes first in every profile, so what full-auto refuses, all refuse.
  test("no ruinous command runs, not even in full-auto", { timeout: 120_000 }, async () => {
    expect(RUINOUS.length).toBeGreaterThan(600)
    expect(await escaped(RUINOUS, callsOf, "full-auto")).toEqual([])
  })
})

test(
  "no attack runs in a sub-agent, and no ruinous command in one that inherits full-auto",
  { timeout: 120_000 },
  async () => {
    const inChild = (session: DispatchSession): DispatchSession => ({
      ...session,
      permissions: session.permissions.inherited({ headless: "deny" }),
    })
    const foreground = (command: string): readonly Call[] => [terminal({ command })]
    expect(await escaped(RISKY, foreground, "default", inChild)).toEqual([])
    expect(await escaped(RUINOUS, foreground, "full-auto", inChild)).toEqual([])
  },
)

test("the test notices what runs", async () => {
  const harmless: readonly Attack[] = [
    { command: "ls", expect: "stopped" },
    { command: "git push", before: ["ls"], expect: "stopped" },
  ]
  for (const callsOf of Object.values(PATHS))
    expect(await escaped(harmless, callsOf, "default")).toEqual(["ls", "git push"])
})

test.each<{ name: string; inputs: readonly Call["args"][] }>([
  { name: "one character at a time", inputs: Array.from("rm -rf ~\r", (data) => ({ action: "write", data })) },
  {
    name: "a variable of an earlier line",
    inputs: [
      { action: "submit", data: "x=/" },
      { action: "submit", data: "rm -rf $x" },
    ],
  },
  { name: "a deleted character", inputs: [{ action: "submit", data: "rm -rf /x\u007F" }] },
  {
    name: "a deletion in another call",
    inputs: [
      { action: "write", data: "echo; rm -r ./x/" },
      { action: "write", data: "\u0008\u0008" },
      { action: "submit", data: "" },
    ],
  },
  { name: "a completed path", inputs: [{ action: "submit", data: "rm -rf /et\t" }] },
  {
    name: "a continued line",
    inputs: [
      { action: "submit", data: "rm \\" },
      { action: "submit", data: "-rf ~" },
    ],
  },
  {
    name: "an open quote",
    inputs: [
      { action: "submit", data: "eval '" },
      { action: "submit", data: "rm -rf ~" },
      { action: "submit", data: "'" },
    ],
  },
])("input for a shell is judged as the line that it becomes: $name", async ({ inputs }) => {
  let runs = 0
  const harness = await corpusSession("full-auto", () => {
    runs += 1
  })
  await using _harness = harness
  const session = harness.at(shellAfter([]))
  for (const [index, args] of inputs.entries()) {
    const call = input(args)
    const batch = runBatch([toolCall(`c${index}`, call.tool, call.args)], session, harness.run)
    while ((await batch.next()).done !== true);
  }
  expect(runs).toBeLessThan(inputs.length)
})

test("answers and single keys for a running program are not asked about", async () => {
  let runs = 0
  const harness = await corpusSession("default", () => {
    runs += 1
  })
  await using _harness = harness
  const session = harness.at(shellAfter([]))
  const inputs = [
    { action: "submit", data: "y" },
    { action: "submit", data: "npm test" },
    { action: "write", data: "\u0003" },
    { action: "write", data: "\u001B[A" },
    { action: "write", data: "\r" },
    { action: "submit" },
  ]
  for (const [index, args] of inputs.entries()) {
    const call = input(args)
    const batch = runBatch([toolCall(`c${index}`, call.tool, call.args)], session, harness.run)
    while ((await batch.next()).done !== true);
  }
  expect(
    harness.recorded.map(({ content }) => contentText(content)).filter((text) => text.includes("blocked")),
  ).toEqual([])
  expect(runs).toBe(inputs.length)
})
