import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { afterEach, describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { LEFT_BEHIND, leftovers, runScript } from "./script-session.ts"
import type { ScriptSession } from "./script-session.ts"

const bubblewrap = await findBubblewrap()
const SANDBOXES: readonly ScriptSession[] = "missing" in bubblewrap ? [{ sandbox: "off" }] : [{}, { sandbox: "off" }]

const FILES = {
  workFiles: {
    "a.txt": "TODO one\nplain\n",
    "b.txt": "plain\nTODO two\n",
    "lib.mjs": "export const answer = 42\n",
    "helper.py": "ANSWER = 42\n",
  },
}

afterEach(() => {
  expect(leftovers()).toEqual([])
})

describe.each(SANDBOXES)("scripts with $sandbox", (sandbox) => {
  const options = { ...FILES, ...sandbox }

  test.each([
    {
      language: "javascript",
      code: `import { search_files, read_file } from "hermes_tools"
const found = await search_files("TODO", undefined, ".")
const lines = []
for (const { path, line } of found.matches) {
  const { content } = await read_file({ path, offset: line, limit: 1 })
  lines.push(content.split("|")[1])
}
console.log(lines.filter((line) => line.includes("two")).join())`,
    },
    {
      language: "typescript",
      code: `import { search, readFile } from "hermes_tools"
interface Found { path: string; line: number }
const found: { matches: Found[] } = await search("TODO", undefined, ".")
const texts = await Promise.all(found.matches.map(({ path, line }: Found) => readFile(path, line, 1)))
console.log(texts.map(({ content }) => content.split("|")[1]).filter((line: string) => line.includes("two")).join())`,
    },
    {
      language: "python",
      code: `from hermes_tools import search_files, read_file
lines = [read_file(one["path"], offset=one["line"], limit=1)["content"].split("|")[1]
         for one in search_files("TODO", path=".")["matches"]]
print(",".join(line for line in lines if "two" in line))`,
    },
  ])("search, loop and filter in $language", async (call) => {
    const { result, events, request, log } = await runScript(call, options)
    expect(result).toEqual({
      status: "success",
      output: "TODO two",
      tool_calls_made: 3,
      duration_seconds: expect.any(Number),
    })
    const inner = events.filter((event) => event.type === "tool-end" && event.call.parentId === "outer")
    expect(inner).toHaveLength(3)
    expect(events.filter(({ type }) => type === "tool-progress")).toContainEqual(
      expect.objectContaining({ callId: "outer", text: "execute_code (3 calls)\n" }),
    )
    expect(request).not.toContain("TODO one")
    expect(log.match(/"type":"sandbox_tool_call"/gu)).toHaveLength(3)
  })

  test.each([
    {
      language: "javascript",
      code: `import { read_file } from "hermes_tools"
const results = await Promise.all(Array.from({ length: 51 }, (_, index) => read_file("a.txt", 1, (index % 2) + 1)))
console.log(results.filter(({ error }) => error === undefined).length, results.at(-1).error)`,
    },
    {
      language: "python",
      code: `from concurrent.futures import ThreadPoolExecutor
from hermes_tools import read_file
with ThreadPoolExecutor(10) as pool:
    results = list(pool.map(lambda index: read_file("a.txt", 1, index % 2 + 1), range(51)))
failed = [one["error"] for one in results if "error" in one]
print(51 - len(failed), failed[0])`,
    },
  ])("the 51st call in $language is refused, the others are answered", async (call) => {
    const { result } = await runScript(call, options)
    expect(result).toMatchObject({ status: "success", tool_calls_made: 50 })
    expect(result.output).toMatch(/^50 Tool call limit reached \(50\)/u)
  })

  test.each([
    {
      language: "javascript",
      code: `import { write_file, read_file } from "hermes_tools"
const names = Array.from({ length: 10 }, (_, index) => "file" + index)
await Promise.all(names.map((name) => write_file(name, "text of " + name)))
const read = await Promise.all(names.map((name) => read_file(name)))
console.log(read.every(({ content }, index) => content === "1|text of file" + index))`,
    },
    {
      language: "python",
      code: `import threading
from hermes_tools import write_file, read_file
right = []
def work(name):
    write_file(name, "text of " + name)
    right.append(read_file(name)["content"] == "1|text of " + name)
threads = [threading.Thread(target=work, args=("file%d" % index,)) for index in range(10)]
[one.start() for one in threads]; [one.join() for one in threads]
print("true" if all(right) and len(right) == 10 else right)`,
    },
  ])("ten calls at once in $language get their own answers", async (call) => {
    const { result } = await runScript(call, options)
    expect(result).toMatchObject({ status: "success", output: "true", tool_calls_made: 20 })
  })

  test.each([
    { language: "javascript", code: `process.stdout.write("a".repeat(30000) + "b".repeat(30000))` },
    { language: "python", code: `print("a" * 30000 + "b" * 30000, end="")` },
  ])("long output of $language keeps its head and tail", async (call) => {
    const { result } = await runScript(call, { ...options, config: "  context_length: 1000000\n" })
    // Runs of letters with their lengths: the text itself would fill the screen when the test fails.
    const shape = result.output.replaceAll(/a+|b+/gu, (run) => (run.length > 9 ? `<${run.length}>` : run))
    expect(shape).toBe("<20000>\n\n[... 10000 of 60000 bytes left out ...]\n\n<30000>")
  })

  test.each([
    { language: "javascript", code: `console.log("begun"); for (;;);`, timeout: 1 },
    { language: "python", code: `print("begun")\nwhile True: pass`, timeout: 1 },
    {
      language: "javascript",
      code: `import { spawn } from "node:child_process"
process.on("SIGTERM", () => undefined)
spawn("sh", ["-c", "sleep 600; : ${LEFT_BEHIND}"], { detached: true, stdio: "ignore" })
console.log("begun"); setInterval(() => undefined, 1000)`,
      timeout: 1,
    },
  ])("an endless script in $language is stopped with all it started", { timeout: 20_000 }, async (call) => {
    const { result, end } = await runScript(call, options)
    expect(result).toMatchObject({ status: "timeout", output: "begun\n[The script was stopped after 1 s.]" })
    expect(end.outcome).toBe("completed")
  })

  test.each([
    { language: "javascript", code: `console.log(JSON.stringify(process.env))` },
    { language: "python", code: `import os, json; print(json.dumps(dict(os.environ)))` },
  ])("secrets are not in the environment of $language", async (call) => {
    const env = {
      DEPLOY_API_KEY: "canary-1",
      OPENAI_API_KEY: "canary-2",
      DATABASE_URL: "canary-3",
      HOME_AUTH: "canary-4",
      PATH_TOKEN: "canary-5",
      SLACK_WEBHOOK: "canary-6",
      SSH_AUTH_SOCK: "canary-7",
      ALLOWED_NAME: "allowed",
    }
    const { result } = await runScript(call, {
      ...options,
      env,
      config:
        "terminal:\n  env_passthrough: [ALLOWED_NAME, OPENAI_API_KEY]\n" +
        ("sandbox" in sandbox ? "  sandbox: off\n" : ""),
      sandbox: undefined as never,
      profile: "full-auto",
    })
    expect(result.status).toBe("success")
    expect(result.output).not.toContain("canary")
    expect(result.output).toContain("allowed")
  })

  test("the shell keeps its directory between the calls of a script", async () => {
    const code = `import { terminal } from "hermes_tools"
await terminal("cd /usr")
console.log((await terminal("pwd")).output, process.cwd() === "/usr")`
    expect((await runScript({ code }, options)).result.output).toBe("/usr false")
  })

  test("modules of the project can be imported, also with await import", async () => {
    const code = `import { answer } from "./lib.mjs"
const { read_file } = await import("hermes_tools")
const { found } = await import("some-package")
console.log(answer, typeof read_file, read_file === hermes_tools.read_file, found)`
    const { result } = await runScript({ code }, { ...options, workFiles: { ...FILES.workFiles, ...PACKAGE } })
    expect(result.output).toBe("42 function true package")
    const python = { language: "python", code: "import helper\nprint(helper.ANSWER)" }
    expect((await runScript(python, options)).result.output).toBe("42")
  })

  test("strict mode has an empty directory and only the modules of Node", async () => {
    const strict = { ...options, config: "code_execution:\n  mode: strict\n", ...sandbox }
    const code = `import { readdirSync } from "node:fs"
console.log(readdirSync(".").includes("script.mjs"))
for (const name of ["some-package", "./lib.mjs"])
  try { await import(name); console.log("imported") } catch (error) { console.log(error.message.split(":")[0]) }`
    const { result } = await runScript({ code }, strict)
    expect(result.output).toMatch(/^true\nCannot import 'some-package'\nCannot find module/u)
  })
})

const PACKAGE = {
  "node_modules/some-package/package.json": '{"name":"some-package","type":"module","exports":"./index.js"}',
  "node_modules/some-package/index.js": 'export const found = "package"\n',
}

test("errors name the line of the script", async () => {
  const javascript = await runScript({ code: `console.log("before")\n\nthrow new Error("broken")` }, FILES)
  expect(javascript.result).toMatchObject({ status: "error", tool_calls_made: 0 })
  expect(javascript.result.error).toMatch(/^script\.mjs:3\n/u)
  expect(javascript.result.output).toMatch(/^before\n--- stderr ---\nscript\.mjs:3\n/u)
  expect(javascript.result.error).not.toContain("hermes_sandbox_")
  const typescript = await runScript({
    language: "typescript",
    code: `interface A {\n  a: string\n}\nconst a: A = { a: "x" }\nthrow new Error(a.a)`,
  })
  expect(typescript.result.error).toMatch(/^script\.mts:5\n/u)
  const python = await runScript({ language: "python", code: `x = 1\n\nraise ValueError("broken")` })
  expect(python.result.error).toContain('File "script.py", line 3')
})

test("syntax errors and unsupported TypeScript are explained", async () => {
  expect((await runScript({ code: "const = 1" })).result).toMatchObject({
    status: "error",
    error: expect.stringContaining("SyntaxError"),
  })
  expect((await runScript({ language: "python", code: "def (" })).result.error).toContain("SyntaxError")
  expect((await runScript({ language: "typescript", code: "enum A { B }\nconsole.log(A.B)" })).result.error).toContain(
    "enum",
  )
})

test("a failed call, an unknown tool and an excluded tool are errors that a script can handle", async () => {
  const code = `import { read_file } from "hermes_tools"
import { call } from "./hermes_rpc.mjs"
for (const result of [await read_file("missing.txt"), await call("foo", {}), await call("vision_analyze", {}), await call("execute_code", {})])
  console.log(result.error)`
  const { result } = await runScript({ code }, FILES)
  expect(result.status).toBe("success")
  const lines = result.output.split("\n")
  expect(lines[0]).toContain("file not found")
  expect(lines[1]).toMatch(/^Unknown tool: foo\. Available: patch, read_file, search_files, terminal, write_file\./u)
  expect(lines[2]).toMatch(/^Tool 'vision_analyze' is not available in execute_code\./u)
  expect(lines[3]).toMatch(/^Tool 'execute_code' is not available in execute_code\./u)
})

test("arguments for background commands are ignored, with a note", async () => {
  const code = `import { terminal } from "hermes_tools"
console.log(JSON.stringify(await terminal({ command: "echo hi", background: true, notify_on_complete: true })))`
  const { result } = await runScript({ code }, FILES)
  expect(JSON.parse(result.output)).toMatchObject({
    output: "hi",
    note: expect.stringContaining("background, notify_on_complete"),
  })
})

test("calls that are not awaited are answered, or named", async () => {
  const code = `import { write_file, terminal } from "hermes_tools"
write_file("late.txt", "x").then(() => console.log("written"))`
  expect((await runScript({ code }, FILES)).result.output).toBe("written")
  const slow = `import { terminal } from "hermes_tools"\nterminal("sleep 30")`
  const { result } = await runScript({ code: slow }, FILES)
  expect(result.output).toContain("Warning: the script ended without awaiting these calls: terminal")
}, 20_000)

test("the helper functions", async () => {
  const code = `import { json_parse, shell_quote, retry, sleep, ToolError } from "hermes_tools"
let tries = 0
const value = await retry(async () => { tries += 1; if (tries < 3) throw new Error("no"); return tries }, { delay_ms: 1 })
const fence = "\`\`\`"
console.log(value, shell_quote("it's"), json_parse(fence + 'json\\n{"a": [1, 2]}\\n' + fence).a.length, json_parse('{"b": 1} and more }').b)
await sleep(1)
console.log(new ToolError("x") instanceof Error)`
  expect((await runScript({ code })).result.output).toBe("3 'it'\\''s' 2 1\ntrue")
  const python = `from hermes_tools import json_parse, shell_quote, retry
tries = []
def work():
    tries.append(1)
    if len(tries) < 3: raise ValueError("no")
    return len(tries)
print(retry(work, delay=0), shell_quote("it's"), json_parse('x {"a": [1]} y')["a"])`
  expect((await runScript({ code: python, language: "python" })).result.output).toBe(`3 'it'"'"'s' [1]`)
})

test("a crash names the signal and keeps the output", async () => {
  const code = `console.log("before"); process.kill(process.pid, "SIGKILL"); for (;;);`
  const { result } = await runScript({ code })
  expect(result).toMatchObject({ status: "error", output: "before" })
  expect(result.error).toContain("SIGKILL")
})

test("a script with too much memory ends", async () => {
  const code = `const all = []; for (;;) all.push(new Array(1e5).fill(Math.random()))`
  const { result } = await runScript({ code }, { config: "code_execution:\n  memory_mb: 32\n" })
  expect(result.status).toBe("error")
  expect(result.error).toContain("heap")
}, 30_000)

test("an interrupt ends the script and the call that it waits for", async () => {
  const code = `import { terminal } from "hermes_tools"\nconsole.log("begun")\nawait terminal("sleep 600")`
  const { assembleApp } = await import("../assembled-app.ts")
  const { callsTool, says } = await import("../../support/model-server/turn.ts")
  await using assembled = await assembleApp([callsTool("execute_code", { code }), says("never")])
  const session = await assembled.open()
  const controller = new AbortController()
  const outcomes: string[] = []
  for await (const event of session.run("go", { signal: controller.signal })) {
    if (event.type === "tool-start" && event.call.name === "terminal") controller.abort()
    if (event.type === "tool-end") outcomes.push(`${event.call.name} ${event.outcome}`)
    if (event.type === "run-end") expect(event.outcome).toBe("interrupted")
  }
  expect(outcomes).toEqual(["terminal interrupted", "execute_code interrupted"])
})

test("an interrupt kills a script that ignores SIGTERM, and what it started", async () => {
  const code = `import { spawn } from "node:child_process"
process.on("SIGTERM", () => console.log("asked to end"))
spawn("sh", ["-c", "trap '' TERM; while :; do sleep 1; done; : ${LEFT_BEHIND}"], { stdio: "ignore" })
import { terminal } from "hermes_tools"
await terminal("echo begun")
setInterval(() => undefined, 1000)`
  const { assembleApp } = await import("../assembled-app.ts")
  const { callsTool, says } = await import("../../support/model-server/turn.ts")
  await using assembled = await assembleApp([callsTool("execute_code", { code }), says("never")], {
    config: "terminal:\n  sandbox: off\n",
  })
  const session = await assembled.open({ permissionProfile: "full-auto", attended: false })
  const controller = new AbortController()
  for await (const event of session.run("go", { signal: controller.signal })) {
    if (event.type === "tool-end" && event.call.name === "terminal") controller.abort()
    if (event.type === "run-end") {
      expect(event.outcome).toBe("interrupted")
      const result = event.result.messages.find((message) => message.role === "tool")
      // The tool reported before the door gave it up, so the script had ended by then.
      expect(JSON.stringify(result)).toMatch(/asked to end[^]*interrupted the script/u)
    }
  }
  expect(leftovers()).toEqual([])
})

test("empty code and an unknown language start nothing", async () => {
  expect((await runScript({ code: " \n" })).result.error).toContain("`code` must not be empty")
  expect((await runScript({ code: "x", language: "ruby" })).result.error).toContain("javascript, typescript, python")
})

test("a directory that a killed process left behind is removed with the next script", async () => {
  const { tmpdir } = await import("node:os")
  const stale = join(tmpdir(), "hermes_sandbox_stale1")
  mkdirSync(stale)
  writeFileSync(join(stale, ".owner"), "1 not-this-start")
  expect(leftovers()).not.toEqual([])
  await runScript({ code: "console.log(1)" })
})
