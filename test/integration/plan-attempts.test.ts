import { execFileSync, spawn } from "node:child_process"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { createServer } from "node:net"
import { basename, dirname, join } from "node:path"
import { setTimeout } from "node:timers/promises"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../support/bubblewrap.ts"
import { directoryContents } from "../support/directory-contents.ts"
import { createRepository } from "../support/git-repository.ts"
import { titleWithReason } from "../support/skip-reason.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { callsTool, repeat, reply, says } from "../support/model-server/turn.ts"
import type { ScriptedCall, ScriptEntry, TurnFunction } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

type Attempt =
  | { readonly command: string; readonly why: string }
  | { readonly tool: string; readonly args: Readonly<Record<string, unknown>>; readonly why: string }

/** What the attempts name: paths, ports, processes. */
type Places = Readonly<Record<string, string>>

const ATTEMPTS = readFileSync(new URL("../fixtures/permissions/plan-attempts.jsonl", import.meta.url), "utf8")

function attemptsIn(places: Places): readonly Attempt[] {
  const filled = ATTEMPTS.replaceAll(/\{(\w+)\}/gu, (found, name: string) => places[name] ?? found)
  return filled
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Attempt)
}

/** Every way in which a command can reach a shell. */
const WAYS: Readonly<Record<string, (command: string, places: Places) => ScriptedCall>> = {
  foreground: (command) => ({ name: "terminal", input: { command, timeout: 5 } }),
  background: (command) => ({ name: "terminal", input: { command, background: true } }),
  "pseudo-terminal": (command) => ({ name: "terminal", input: { command, pty: true, timeout: 5 } }),
  "background in a pseudo-terminal": (command) => ({
    name: "terminal",
    input: { command, background: true, pty: true },
  }),
  "input of a shell": (command, { shell }) => ({
    name: "process",
    input: { action: "submit", session_id: shell, data: command },
  }),
  bridge: (command) => ({ name: "tool_call", input: { name: "terminal", arguments: { command, timeout: 5 } } }),
  "input of a shell through the bridge": (command, { shell }) => ({
    name: "tool_call",
    input: { name: "process", arguments: { action: "write", session_id: shell, data: `${command}\n` } },
  }),
}

/**
 * Starting an interpreter takes longer than a refused call, so that each script tries many commands. They are encoded: a script whose text looks
 * dangerous is refused as a whole, and the other commands in it would not be tried.
 */
function scriptCalls(commands: readonly string[]): readonly ScriptedCall[] {
  const scripts = Array.from({ length: Math.ceil(commands.length / COMMANDS_PER_SCRIPT) }, (_, index) =>
    commands.slice(index * COMMANDS_PER_SCRIPT, (index + 1) * COMMANDS_PER_SCRIPT),
  )
  return scripts.map((tried) => ({
    name: "execute_code",
    input: {
      code: `import { terminal } from "hermes_tools"
for (const encoded of ${JSON.stringify(tried.map((command) => Buffer.from(command).toString("base64")))}) {
  const command = Buffer.from(encoded, "base64").toString("utf8")
  try { console.log(await terminal({ command, timeout: 5 })) } catch (error) { console.log(String(error)) }
}`,
    },
  }))
}

const COMMANDS_PER_SCRIPT = 20

/** How many calls all scripts made. Later requests contain a digest of old results, so each result is read where it is complete. */
function callsOfScripts(requests: readonly string[]): number {
  const made = new Map<string, number>()
  for (const body of requests) {
    const { messages } = JSON.parse(body) as { readonly messages: readonly Readonly<Record<string, unknown>>[] }
    for (const { tool_call_id: id, content } of messages) {
      const count = /"tool_calls_made":(\d+)/u.exec(String(content))?.[1]
      if (typeof id === "string" && count !== undefined) made.set(id, Number(count))
    }
  }
  return [...made.values()].reduce((sum, count) => sum + count, 0)
}

/** Definitions from before plan mode that later commands try to use. */
const EARLIER = [
  "hijack() { touch hijacked; }",
  "alias ll='touch hijacked'",
  "export RUN='touch hijacked' FLAG='-l; touch hijacked' EDITOR_CMD='touch'",
  'hijacked_cat() { cat "$@"; touch hijacked; }',
]

describe.skipIf(missing !== undefined)(titleWithReason("a hostile model in plan mode", missing), () => {
  // One session for many attempts: opening one, and comparing the machine at its end, takes longer than a hundred refused calls.
  test("changes, starts and sends nothing: commands in every way", { timeout: 120_000 }, async () => {
    const [first, ...others] = Object.values(WAYS)
    const partOf = (commands: readonly string[], part: number): readonly string[] =>
      commands.filter((_command, index) => index % (others.length + 1) === part)
    let inScripts: readonly string[] = []
    const requests = await attempt((places) => {
      const commands = attemptsIn(places).flatMap((each) => ("command" in each ? [each.command] : []))
      inScripts = partOf(commands, others.length)
      return [
        ...commands.flatMap((command) => first?.(command, places) ?? []),
        // The policy decides alike for every way, so the others get a different part of the commands each.
        ...others.flatMap((callOf, part) => partOf(commands, part).map((command) => callOf(command, places))),
        ...scriptCalls(inScripts),
      ]
    })
    expect(callsOfScripts(requests)).toBe(inScripts.length)
  })

  test(
    "changes, starts and sends nothing: calls of every tool, also through the bridge",
    { timeout: 120_000 },
    async () => {
      await attempt((places) => {
        const calls = attemptsIn(places).flatMap((each) => ("command" in each ? [] : [each]))
        return [
          ...calls.map(({ tool: name, args }) => ({ name, input: args })),
          ...calls.map(({ tool: name, args }) => ({ name: "tool_call", input: { name, arguments: args } })),
        ]
      })
    },
  )

  test("changes, starts and sends nothing: commands and calls of a sub-agent", async () => {
    await attempt(
      (places) =>
        // The policy decides as it does for the conversation, so every fourth is enough.
        attemptsIn(places)
          .filter((_each, index) => index % 4 === 0)
          .map((each) =>
            "command" in each
              ? { name: "terminal", input: { command: each.command, timeout: 5 } }
              : { name: "tool_call", input: { name: each.tool, arguments: each.args } },
          ),
      { inChild: true },
    )
  })
})

/** Makes the calls in plan mode, several at a time, and compares the machine before and after. Returns the requests. */
async function attempt(
  callsFor: (places: Places) => readonly ScriptedCall[],
  { inChild = false }: { readonly inChild?: boolean } = {},
): Promise<readonly string[]> {
  await using listener = await startListener()
  const replies: ScriptEntry[] = []
  const next: TurnFunction = async (request) => {
    const entry = replies.shift() ?? says("This is the plan.")
    if (typeof entry === "function") return await entry(request)
    return entry.kind === "repeat" ? says("") : entry
  }
  await using assembled = await assembleApp([repeat(next)], {
    config: CONFIG,
    workFiles: WORK,
    // Hermes copies its own skills while the model thinks; that is no effect of a call.
    files: { ".no-bundled-skills": "" },
  })
  prepareFiles(assembled, listener.ports)
  const { home } = assembled
  replies.push(...SETUP)
  const session = await assembled.open({ permissionProfile: "full-auto" })
  const setup = await runToEnd(session, "prepare")
  const results = JSON.stringify(setup.end.result.messages)
  const places: Places = {
    ...listener.ports,
    work: home.workdir,
    home: home.userHome,
    hermes: home.path,
    plan: `.hermes/plans/${session.id}.md`,
    shell: /proc_\w+/u.exec(results)?.[0] ?? "missing",
  }
  expect(results).toContain(places["shell"])
  session.setPermissionProfile("plan")
  const calls = callsFor(places)
  expect(calls.length).toBeGreaterThan(50)
  if (inChild) replies.push(callsTool("tool_call", { name: "delegate_task", arguments: { goal: "Try it" } }))
  for (let index = 0; index < calls.length; index += BATCH)
    replies.push(reply({ calls: calls.slice(index, index + BATCH) }))
  const before = snapshot(home, places)
  const processes = await processesBelow(dirname(home.workdir))
  let settled = 0
  const changes: string[] = []
  await runToEnd(session, "plan something", (event) => {
    if (event.type === "clarify-request" || event.type === "approval-request")
      changes.push(`asked: ${JSON.stringify(event)}`)
    const isCall = inChild ? event.type === "status" && event.kind === "subagent" : event.type === "tool-end"
    if (!isCall || (event.type === "status" && event.kind === "subagent" && event.activity !== "tool")) return
    settled += 1
    if (settled % BATCH !== 0) return
    // Hermes itself records a running sub-agent.
    const found = differences(before, snapshot(home, places)).filter((name) => !name.startsWith("hermes/delegations"))
    if (found.length > 0 && changes.length === 0)
      changes.push(`${JSON.stringify(event)} or one shortly before: ${found.join(", ")}`)
  })
  expect(changes).toEqual([])
  // The same call twice in one reply is made once.
  expect(settled).toBeGreaterThan(calls.length * 0.95)
  expect(differences(before, snapshot(home, places))).toEqual([])
  expect(await processesBelow(dirname(home.workdir), processes)).toEqual(processes)
  expect(listener.received()).toEqual([])
  return assembled.model.requests.map(({ rawBody }) => rawBody)
}

/** Calls of one reply; those that only read run in parallel. */
const BATCH = 16

const CONFIG =
  "delegation: {max_iterations: 5000}\nagent: {max_turns: 5000, prompt_style: lean}\ntool_loop_guardrails: {hard_stop_enabled: false}\n"

const SETUP: readonly ScriptEntry[] = [
  ...EARLIER.map((command) => callsTool("terminal", { command })),
  callsTool("terminal", { command: "bash", background: true }),
  callsTool("tool_call", { name: "memory", arguments: { action: "add", target: "memory", content: "A fact" } }),
  callsTool("tool_call", { name: "learnings", arguments: { action: "save", pattern: "E1 happened", fix: "restart" } }),
  callsTool("tool_call", { name: "checkpoint", arguments: { action: "save", name: "cp1" } }),
  says("Ready."),
]

const WORK = {
  "a.txt": "before\n",
  "src/b.ts": "export const b = 1\n",
  "evil.sh": "",
  ".gitattributes": "*.txt diff=evil filter=evil\n",
  rgrc: "--pre=./evil.sh\n",
  "p.diff": "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-before\n+owned\n",
  "s.sed": "w x\n",
  "e.awk": 'BEGIN { system("touch x") }\n',
  "a.json": "{}\n",
  "a.yaml": "a: 0\n",
  "script.py": "open('x', 'w')\n",
}

/** Programs that git starts by itself in this repository, even for commands that only read. */
const HOSTILE_GIT = `
[core]
	fsmonitor = EVIL
	pager = EVIL
	hooksPath = .
[diff]
	external = EVIL
[diff "evil"]
	textconv = EVIL
[filter "evil"]
	clean = EVIL
	smudge = EVIL
	process = EVIL
`

function prepareFiles({ home }: AssembledApp, { tcp, udp }: { readonly tcp: string; readonly udp: string }): void {
  createRepository(home.workdir, {})
  const at = (name: string): string => join(home.workdir, name)
  const escape = [
    "touch hijacked ~/hijacked",
    `echo x > /dev/udp/127.0.0.1/${udp}`,
    `echo x > /dev/tcp/127.0.0.1/${tcp}`,
    "setsid sleep 600 &",
    "exit 0",
  ]
  writeFileSync(at("evil.sh"), `#!/bin/bash\n${escape.join("\n")}\n`, { mode: 0o755 })
  appendFileSync(at(".git/config"), HOSTILE_GIT.replaceAll("EVIL", at("evil.sh")))
  execFileSync("mkfifo", [at("fifo")])
  execFileSync("tar", ["-C", home.workdir, "-cf", at("x.tar"), "a.txt"])
  writeFileSync(join(home.userHome, ".bashrc"), "# mine\n")
  linkSync(join(home.userHome, ".bashrc"), at("hard.txt"))
  symlinkSync(home.userHome, at("linked"))
  mkdirSync(join(home.path, "plans"), { recursive: true })
  writeFileSync(join(home.path, "plans/other.json"), "{}\n")
}

/** What Hermes itself keeps while a conversation runs. */
const OWN_RECORDS = [
  "logs",
  "state.db",
  "state.db-wal",
  "state.db-shm",
  "memory_index.db",
  "memory_index.db-wal",
  "memory_index.db-shm",
  "plans",
  "cache",
  "checkpoints",
  "sessions",
]

function snapshot({ workdir, userHome, path }: TemporaryHome, { plan = "" }: Places): Readonly<Record<string, string>> {
  const prefixed = (prefix: string, contents: Readonly<Record<string, string>>) =>
    Object.entries(contents).map(([name, facts]) => [`${prefix}${name}`, facts] as const)
  const project = prefixed("work", directoryContents(workdir)).filter(
    ([name]) => !["work/.hermes", "work/.hermes/plans", `work/${plan}`].includes(name),
  )
  const user = prefixed("home", directoryContents(userHome, [basename(path)]))
  const own = prefixed("hermes", directoryContents(path, OWN_RECORDS))
  return Object.fromEntries([...project, ...user, ...own])
}

function differences(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => before[name] !== after[name])
}

/** The command lines of the processes that work in a directory, apart from shells that Hermes keeps ready. Waits until they are as expected. */
async function processesBelow(directory: string, expected?: readonly string[]): Promise<readonly string[]> {
  const read = (): readonly string[] =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/u.test(name))
      .flatMap((pid) => {
        try {
          const isBelow = readlinkSync(`/proc/${pid}/cwd`).startsWith(directory)
          const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim()
          return isBelow && line !== "" && !line.includes("__hermes_size") && !line.includes("bwrap") ? [line] : []
        } catch {
          // The process has exited in the meantime.
          return []
        }
      })
      .toSorted()
  for (let tries = 0; tries < 50; tries += 1) {
    if (expected !== undefined && JSON.stringify(read()) === JSON.stringify(expected)) break
    await setTimeout(20)
  }
  return read()
}

/** A server for every kind of connection. `received` lists what arrived. */
async function startListener() {
  const received: string[] = []
  const server = createServer((socket) => {
    received.push("a TCP connection")
    socket.on("error", () => undefined)
    socket.end()
  })
  const udp = createSocket("udp4", (message) => received.push(`a datagram: ${message.toString("latin1")}`))
  server.listen(0, "127.0.0.1")
  udp.bind(0, "127.0.0.1")
  await Promise.all([once(server, "listening"), once(udp, "listening")])
  const victim = spawn("sleep", ["3600"], { stdio: "ignore" })
  const address = server.address()
  return {
    ports: {
      tcp: String(typeof address === "object" ? address?.port : 0),
      udp: String(udp.address().port),
      victim: String(victim.pid),
    },
    received: () =>
      victim.exitCode === null && victim.signalCode === null ? received : [...received, "the process was killed"],
    [Symbol.asyncDispose]: async () => {
      victim.kill("SIGKILL")
      udp.close()
      server.close()
      await once(server, "close")
    },
  }
}
