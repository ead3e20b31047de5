import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { afterEach, describe, expect, test } from "vitest"

import type { AgentEvent } from "../../../src/protocol/events.ts"
import { findBubblewrap } from "../../support/bubblewrap.ts"
import { callsTool, repeat, says } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { leftovers, runScript } from "./script-session.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

const UNWALLED = "terminal:\n  sandbox: off\n"
const CODE = `import { read_file } from "hermes_tools"\nconsole.log("it's", (await read_file("a.txt")).content)`

afterEach(() => {
  expect(leftovers()).toEqual([])
})

describe("without a sandbox", () => {
  test("the user sees the whole script; a denial starts nothing, an approval for the session covers this script only", async () => {
    const other = `${CODE}\nconsole.log("more")`
    await using assembled = await assembleApp(
      [CODE, CODE, CODE, other].map((code) => callsTool("execute_code", { code })).concat(says("Done.")),
      { config: UNWALLED, workFiles: { "a.txt": "text\n" } },
    )
    const session = await assembled.open()
    const choices = ["deny", "session", "deny"] as const
    const asked: Extract<AgentEvent, { type: "approval-request" }>[] = []
    const outcomes: string[] = []
    await runToEnd(session, "go", (event) => {
      if (event.type === "approval-request") {
        const choice = choices[asked.length] ?? "deny"
        asked.push(event)
        session.answer(event.requestId, { kind: "approval", choice })
      }
      if (event.type === "tool-end" && event.call.name === "execute_code") outcomes.push(event.outcome)
    })
    expect(outcomes).toEqual(["denied", "ok", "ok", "denied"])
    expect(asked.map(({ command }) => command?.includes(CODE))).toEqual([true, true, true])
    expect(asked[0]).toMatchObject({ kind: "command", sandbox: { kind: "none" }, choices: ["once", "session", "deny"] })
    expect(assembled.model.toolResults(1)[0]?.text).toContain('"status":"blocked"')
  })

  test("without a user it is denied", async () => {
    const { result } = await runScript({ code: CODE }, { config: UNWALLED })
    expect(result).toMatchObject({ status: "blocked" })
    expect(result.error).toContain("no user is present")
  })

  test("a rule names the language", async () => {
    const rules = (rule: string) => ({
      config: `${UNWALLED}approvals:\n  rules:\n    - ${rule}\n`,
      workFiles: { "a.txt": "text\n" },
    })
    const allowed = await runScript({ code: CODE }, rules("{pattern: 'code:javascript', decision: allow}"))
    expect(allowed.result).toMatchObject({ status: "success", output: "it's 1|text" })
    const python = { language: "python", code: "print(1)" }
    const denied = await runScript(python, rules("{pattern: 'code:javascript', decision: allow}"))
    expect(denied.result.error).toContain("no user is present")
    const refused = await runScript(python, { ...rules("{pattern: code, decision: deny}"), profile: "full-auto" })
    expect(refused.result.error).toContain("BLOCKED: the rule `code`")
  })

  test("plan mode refuses scripts", async () => {
    const { result } = await runScript({ code: CODE }, { config: UNWALLED, profile: "plan" })
    expect(result.error).toContain("PLAN_MODE_ACTIVE")
    expect(result.error).toContain("scripts need the sandbox")
  })

  test("what nothing can allow is refused in the text of a script and in its calls", async () => {
    const shell = await runScript(
      { language: "python", code: "import os\nos.system('rm -rf /')" },
      { config: UNWALLED, profile: "full-auto" },
    )
    expect(shell.result.error).toContain("BLOCKED (hardline)")
    const code = `import { terminal } from "hermes_tools"\nconsole.log((await terminal(["rm", "-rf", "/"].join(" "))).error)`
    const inner = await runScript({ code }, { config: UNWALLED, profile: "full-auto" })
    expect(inner.result.output).toContain("BLOCKED (hardline)")
  })
})

describe.skipIf(missing !== undefined)(titleWithReason("in the sandbox", missing), () => {
  test.each(["default", "accept-edits"])("%s asks about nothing that the walls confine", async (profile) => {
    const { result, events } = await runScript({ code: CODE }, { profile, workFiles: { "a.txt": "text\n" } })
    expect(result).toMatchObject({ status: "success", output: "it's 1|text" })
    expect(events.filter(({ type }) => type === "approval-request")).toEqual([])
  })

  test("a script writes in the working directory, and nowhere else", async () => {
    const code = `import { writeFileSync } from "node:fs"
for (const path of ["made.txt", "/var/made.txt", process.env.HERMES_HOME + "/made.txt", ".git/hooks/made"])
  try { writeFileSync(path, "x"); console.log("written") } catch (error) { console.log(error.code) }`
    const { result } = await runScript({ code }, { workFiles: { ".git/hooks/sample": "" } })
    const [first, ...others] = result.output.split("\n")
    expect(first).toBe("written")
    expect(others).not.toContain("written")
  })

  test("Unix sockets are refused, although calls work", async () => {
    const code = `import { connect, createServer } from "node:net"
import { read_file } from "hermes_tools"
const failed = (socket) => new Promise((resolve) => socket.on("error", (error) => resolve(error.code)))
console.log(await failed(connect("/run/x.sock")), await failed(createServer().listen("own.sock")), (await read_file("a.txt")).content)`
    const { result } = await runScript({ code }, { workFiles: { "a.txt": "text\n" } })
    expect(result.output).toBe("EPERM EPERM 1|text")
  })

  test("the state of the shell is out of reach", async () => {
    const code = `import { readdirSync } from "node:fs"
import { terminal } from "hermes_tools"
await terminal("export MARKER=1")
console.log(readdirSync("/dev/shm").length, process.env.MARKER ?? "unset")`
    expect((await runScript({ code })).result.output).toBe("0 unset")
  })

  test("what a script reads from outside counts when its next call reaches the network", async () => {
    const code = `import { read_file, terminal } from "hermes_tools"
const { content } = await read_file("notes.txt")
const { error } = await terminal(content.split("|")[1])
console.log(error)`
    const notes = "curl -s https://collect.example/x\n"
    const { result } = await runScript({ code }, { workFiles: { "notes.txt": notes } })
    expect(result.output).toContain("text from outside may have led to it")
    const hosted = `await fetch("https://collect.example/y")`
    await using assembled = await assembleApp(
      [callsTool("read_file", { path: "notes.txt" }), callsTool("execute_code", { code: hosted }), says("Done.")],
      { workFiles: { "notes.txt": notes } },
    )
    await runToEnd(await assembled.open({ attended: false }), "summarise the notes")
    expect(assembled.model.toolResults(2)[0]?.text).toContain("text from outside may have led to it")
  })

  test("in plan mode a script reads, and changes nothing by itself or through calls", async () => {
    const code = `import { writeFileSync } from "node:fs"
import { read_file, write_file, terminal } from "hermes_tools"
try { writeFileSync("b.txt", "x"); console.log("written") } catch (error) { console.log(error.code) }
console.log((await read_file("a.txt")).content, (await terminal("cat a.txt")).output.trim())
console.log((await write_file("b.txt", "x")).error, (await terminal("touch b.txt")).error)`
    const { result, home } = await runScript({ code }, { profile: "plan", workFiles: { "a.txt": "text\n" } })
    const [own, read, calls] = result.output.split("\n")
    expect([own, read]).toEqual(["EROFS", "1|text text"])
    expect(calls).toMatch(/^PLAN_MODE_ACTIVE.*PLAN_MODE_ACTIVE/u)
    expect(existsSync(join(home.workdir, "b.txt"))).toBe(false)
  })
})

test("the audit log has a line for the script and for each of its calls", async () => {
  await using assembled = await assembleApp([callsTool("execute_code", { code: CODE }), says("Done.")], {
    workFiles: { "a.txt": "text\n" },
    config: UNWALLED,
  })
  await runToEnd(await assembled.open({ permissionProfile: "full-auto" }), "go")
  await assembled.app.close()
  const lines = readFileSync(join(assembled.home.path, "logs/audit.jsonl"), "utf8").trim().split("\n")
  const calls = lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ tool }) => tool !== undefined)
  expect(calls.map(({ tool, status }) => `${String(tool)} ${String(status)}`)).toEqual([
    "read_file ok",
    "execute_code ok",
  ])
})

test("an iteration that only runs a script is refunded", async () => {
  let count = 0
  const turn = () => {
    count += 1
    return count <= 5 ? callsTool("execute_code", { code: `console.log(${count})` }) : says("Done.")
  }
  await using assembled = await assembleApp([repeat(turn)])
  const { end } = await runToEnd(await assembled.open({ maxIterations: 3, attended: false }), "go")
  expect(end.outcome).toBe("completed")
  expect(end.result.finalResponse).toBe("Done.")
  expect(count).toBe(6)
})
