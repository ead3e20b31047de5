// A minimal Node program for a conversation with tool calls: the same requests on one connection, the same spawns.
// node tool-turns.mjs BASE_URL FIRST_BODY_FILE SHELL
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { Agent, request } from "node:http"

const [baseUrl, bodyFile, shell] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const conversation = JSON.parse(readFileSync(bodyFile, "utf8"))
for (;;) {
  const reply = await sendRequest(JSON.stringify(conversation))
  if (reply.call === undefined) {
    process.stdout.write(`${reply.text}\n`, () => process.exit(0))
    break
  }
  const { id, name, args } = reply.call
  const call = { id, type: "function", function: { name, arguments: args } }
  conversation.messages.push({ role: "assistant", content: null, tool_calls: [call] })
  const result = await run(JSON.parse(args).command)
  conversation.messages.push({ role: "tool", tool_call_id: id, content: JSON.stringify(result) })
}

function sendRequest(body) {
  const { promise, resolve, reject } = Promise.withResolvers()
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
  const call = request(`${baseUrl}/chat/completions`, { method: "POST", headers, agent }, (response) => {
    const reply = { text: "", call: undefined }
    let buffered = ""
    response.setEncoding("utf8")
    response.on("data", (chunk) => {
      const frames = (buffered + chunk).split("\n\n")
      buffered = frames.pop()
      for (const frame of frames) {
        if (frame !== "data: [DONE]") add(reply, JSON.parse(frame.slice("data: ".length)).choices[0]?.delta)
      }
    })
    response.on("end", () => resolve(reply))
  })
  call.on("error", reject)
  call.end(body)
  return promise
}

function add(reply, delta) {
  reply.text += delta?.content ?? ""
  const piece = delta?.tool_calls?.[0]
  if (piece === undefined) return
  if (piece.id !== undefined) reply.call = { id: piece.id, name: piece.function.name, args: "" }
  reply.call.args += piece.function.arguments
}

function run(command) {
  const { promise, resolve, reject } = Promise.withResolvers()
  const child = spawn(shell, ["-c", command], { stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk
    })
  }
  child.on("error", reject)
  child.on("close", (code) => resolve({ output, exit_code: code, error: null }))
  return promise
}
