import { afterEach, expect, test } from "vitest"

import { leftovers, runScript } from "./script-session.ts"

afterEach(() => {
  expect(leftovers()).toEqual([])
})

const READ = `import { readSync, writeSync } from "node:fs"
function exchange(descriptor, text) {
  writeSync(descriptor, text)
  const bytes = Buffer.alloc(65536)
  for (;;) {
    try {
      const count = readSync(descriptor, bytes)
      return count === 0 ? "closed" : bytes.toString("utf8", 0, count).trim()
    } catch (error) {
      if (error.code !== "EAGAIN") return error.code
    }
  }
}
const token = process.env.HERMES_RPC_TOKEN
`

test("forged lines are answered with an error, and the connection stays open", async () => {
  const code = `${READ}
writeSync(4, JSON.stringify({ auth: token }) + "\\n")
for (const line of ["nonsense", "[1]", "{}", '{"tool":7}', '{"id":1,"tool":"read_file","args":[]}', '{"tool":"read_file","args":{"path":1}}'])
  console.log(exchange(4, line + "\\n"))
console.log(exchange(4, '{"id":"x","tool":"read_file","args":{"path":"a.txt"}}\\n'))`
  const { result, end } = await runScript({ code }, { workFiles: { "a.txt": "hello\n" } })
  const lines = result.output.split("\n").map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(lines.slice(0, 5).map(({ error }) => error)).toEqual([
    "Invalid RPC request: it is not a JSON object",
    "Invalid RPC request: it is not a JSON object",
    "Invalid RPC request: the field tool is missing",
    "Invalid RPC request: the field tool is missing",
    "Invalid RPC request: the field args is not an object",
  ])
  expect(lines[4]?.["id"]).toBe(1)
  expect(lines[5]).toHaveProperty("result.error")
  expect(lines[6]).toMatchObject({ id: "x", result: { content: "1|hello" } })
  expect(end.outcome).toBe("completed")
})

test.each([
  ["a wrong token", `JSON.stringify({ auth: "0".repeat(64) }) + "\\n"`],
  ["a shorter token", `JSON.stringify({ auth: token.slice(1) }) + "\\n"`],
  ["a call before the token", `JSON.stringify({ tool: "terminal", args: { command: "touch x" } }) + "\\n"`],
  ["bytes that are no text", `Buffer.from([0xff, 0xfe, 0, 10])`],
])("%s closes the connection and runs nothing", async (_name, line) => {
  const code = `${READ}console.log(exchange(4, ${line}))`
  const { result } = await runScript({ code })
  expect(result).toMatchObject({ status: "success", tool_calls_made: 0 })
  expect(result.output).toMatch(/^(?:closed|ECONNRESET|EPIPE)$/u)
})

test("a closed connection is an error in the script", async () => {
  const { result } = await runScript({
    code: `import { Worker } from "node:worker_threads"
const source = "import { read_file } from 'hermes_tools'; try { await read_file('a') } catch (e) { console.log(e.name, e.message) }"
const worker = new Worker(new URL("data:text/javascript," + source), { env: { ...process.env, HERMES_RPC_TOKEN: "wrong" } })
await new Promise((resolve) => worker.on("exit", resolve))`,
  })
  expect(result.output).toContain("ToolError the connection to Hermes is closed")
  const python = await runScript({
    language: "python",
    code: `import os
os.environ["HERMES_RPC_TOKEN"] = "wrong"
from hermes_tools import read_file
try:
    read_file("a.txt")
except RuntimeError as error:
    print(error)`,
  })
  expect(python.result.output).toContain("the connection to Hermes is closed")
})

test("worker threads of Node call tools, each over its own connection", async () => {
  const code = `import { Worker } from "node:worker_threads"
const source = "import { read_file } from 'hermes_tools'; console.log((await read_file('a.txt')).content)"
const workers = Array.from({ length: 3 }, () => new Worker(new URL("data:text/javascript," + source)))
await Promise.all(workers.map((worker) => new Promise((resolve) => worker.on("exit", resolve))))`
  const { result } = await runScript({ code }, { workFiles: { "a.txt": "hello\n" } })
  expect(result).toMatchObject({ output: "1|hello\n1|hello\n1|hello", tool_calls_made: 3 })
})

test("a line of more than 16 MiB closes the connection, a shorter one is a call", async () => {
  const code = `${READ}
writeSync(4, JSON.stringify({ auth: token }) + "\\n")
import { Socket } from "node:net"
const socket = new Socket({ fd: 4, readable: true, writable: true })
const text = await new Promise((resolve) => {
  let all = ""
  socket.on("data", (chunk) => (all += chunk))
  socket.on("close", () => resolve(all))
  socket.on("error", () => undefined)
  socket.write("x".repeat(17 * 1024 * 1024))
})
console.log(text.trim() || "closed")
const { write_file } = await import("hermes_tools")
console.log((await write_file("big.txt", "y".repeat(15 * 1024 * 1024))).bytes_written)`
  const { result } = await runScript({ code })
  const [closed, written] = result.output.split("\n")
  expect(closed).toMatch(/longer than 16777216 bytes|^closed$/u)
  expect(written).toBe(String(15 * 1024 * 1024))
}, 30_000)

test("a flood of output, of calls and of unread answers ends with the script", async () => {
  const flood = await runScript({
    code: `const text = "x".repeat(65536)\nfor (let count = 0; count < 3000; count += 1) process.stdout.write(text)`,
  })
  expect(flood.result.status).toBe("success")
  const calls = await runScript({
    code: `import { read_file } from "hermes_tools"
const results = await Promise.all(Array.from({ length: 20000 }, () => read_file("a.txt")))
console.log(results.filter(({ error }) => error?.startsWith("Tool call limit reached")).length)`,
    timeout: 60,
  })
  expect(calls.result).toMatchObject({ status: "success", output: "19950", tool_calls_made: 50 })
}, 60_000)

test("binary output is text with replacement characters", async () => {
  const code = `process.stdout.write(Buffer.from([0xff, 0xfe, 0x00, 0x41, 0xc3]))`
  const { result, end } = await runScript({ code })
  expect(result.status).toBe("success")
  expect(result.output).toContain("A")
  expect(end.outcome).toBe("completed")
})

test("a script that closes its descriptors or removes its own files ends as usual", async () => {
  const closes = `import { closeSync, rmSync } from "node:fs"
import { dirname } from "node:path"
console.log("begun")
rmSync(dirname(process.argv[1]), { recursive: true, force: true })
for (const descriptor of [3, 4, 5, 6]) closeSync(descriptor)`
  const { result } = await runScript({ code: closes })
  expect(result.output).toContain("begun")
})
