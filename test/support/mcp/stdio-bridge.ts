import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { createInterface } from "node:readline"

import { isRecord, parseJson } from "../../../src/base/json.ts"

/** A stdio MCP server behind an HTTP address, for clients that only speak HTTP. */
export interface StdioBridge extends AsyncDisposable {
  readonly url: string
  /** Ends all processes. Their sessions are unknown from then on. */
  restart(): Promise<void>
}

interface Bridged {
  readonly child: ChildProcess
  /** Sends a message; resolves with the answer to a request, or with undefined for a notification. */
  send(message: Readonly<Record<string, unknown>>): Promise<string | undefined>
}

/** Starts a process for each session (`initialize`), and one for all requests without a session. */
export async function bridgeToStdio(
  commandLine: readonly string[],
  { env }: { readonly env: Readonly<Record<string, string>> },
): Promise<StdioBridge> {
  const processes = new Map<string, Bridged>()
  const open = (session: string): Bridged => {
    const opened = processes.get(session) ?? startServer(commandLine, env)
    processes.set(session, opened)
    return opened
  }
  let sessions = 0
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const given = request.headers["mcp-session-id"]
    if (request.method !== "POST") {
      if (request.method === "DELETE") processes.get(String(given))?.child.kill()
      response.writeHead(request.method === "DELETE" ? 200 : 405).end()
      return
    }
    const message = parseJson(await bodyOf(request))
    if (!isRecord(message)) {
      response.writeHead(400).end()
      return
    }
    const isNew = message["method"] === "initialize"
    if (isNew) sessions += 1
    const session = isNew ? `session-${sessions}` : typeof given === "string" ? given : "without"
    if (!isNew && session !== "without" && !processes.has(session)) {
      response.writeHead(404).end()
      return
    }
    const answer = await open(session).send(message)
    if (answer === undefined) {
      response.writeHead(202).end()
      return
    }
    response
      .writeHead(200, { "content-type": "application/json", ...(isNew ? { "mcp-session-id": session } : {}) })
      .end(answer)
  }
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.writeHead(500).end())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port }: AddressInfo = Object(server.address())
  const restart = async (): Promise<void> => {
    const running = [...processes.values()]
    processes.clear()
    await Promise.all(running.map(endProcess))
  }
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    restart,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await restart()
    },
  }
}

async function endProcess({ child }: Bridged): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once("exit", resolve))
  child.kill()
  await exited
}

function startServer([program = "", ...args]: readonly string[], env: Readonly<Record<string, string>>): Bridged {
  const child = spawn(program, args, { env, stdio: ["pipe", "pipe", "ignore"] })
  const waiting = new Map<unknown, (answer: string) => void>()
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = parseJson(line)
    if (!isRecord(message)) return
    const { id, method } = message
    if (method === undefined) waiting.get(id)?.(line)
    // Nothing goes back to the client by itself, so requests of the server are refused.
    else if (id !== undefined)
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_601, message: "not bridged" } })}\n`)
  })
  return {
    child,
    send: async (message) => {
      const { id } = message
      const answered = id === undefined ? undefined : new Promise<string>((resolve) => void waiting.set(id, resolve))
      child.stdin.write(`${JSON.stringify(message)}\n`)
      return await answered
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}
