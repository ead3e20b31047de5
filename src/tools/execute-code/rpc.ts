import { timingSafeEqual } from "node:crypto"
import type { Duplex } from "node:stream"

import { isRecord, parseJson } from "../../base/json.ts"

/** A call as a script sends it. */
export interface RpcRequest {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

export type RpcAnswer = { readonly result: unknown } | { readonly error: string }

export interface RpcServer {
  readonly token: string
  handle(request: RpcRequest): Promise<RpcAnswer>
}

/** Each way. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024
const AUTHENTICATION_MS = 5000
/** Answers that a script does not read. */
const MAX_UNREAD_BYTES = 4 * MAX_LINE_BYTES

/**
 * Answers the calls on one connection: one JSON object per line, the first of which is the token. A call with an id may run while others
 * do; calls without one run one after the other. A line that is not a call is answered with an error, a wrong token and a line that is too
 * long close the connection.
 */
export function serveConnection(connection: Duplex, server: RpcServer): void {
  let isAuthenticated = false
  let timer: NodeJS.Timeout | undefined
  let inOrder: Promise<unknown> = Promise.resolve()
  const send = (answer: object): void => {
    if (connection.writable) connection.write(`${boundedLine(answer)}\n`)
    if (connection.writableLength > MAX_UNREAD_BYTES) connection.destroy()
  }
  const receive = (line: string): void => {
    const message = parseJson(line)
    if (!isAuthenticated) {
      clearTimeout(timer)
      isAuthenticated = hasToken(message, server.token)
      if (!isAuthenticated) connection.destroy()
      return
    }
    const request = readRequest(message)
    if (typeof request === "string") {
      send({ ...idOf(message), error: `Invalid RPC request: ${request}` })
      return
    }
    const id = idOf(message)
    const answer = async (): Promise<void> => {
      send({ ...id, ...(await server.handle(request)) })
    }
    if ("id" in id) answer().catch(ignore)
    else inOrder = inOrder.then(answer).catch(ignore)
  }
  readLines(connection, {
    onStart: () => {
      timer = setTimeout(() => {
        connection.destroy()
      }, AUTHENTICATION_MS)
    },
    onLine: receive,
    onTooLong: () => {
      send({ error: `Invalid RPC request: a line is longer than ${MAX_LINE_BYTES} bytes` })
      connection.end(() => {
        connection.destroy()
      })
    },
  })
  connection.once("close", () => {
    clearTimeout(timer)
  })
}

/** Whether a request carries the token. */
export function hasToken(message: unknown, token: string): boolean {
  const given = isRecord(message) && typeof message["auth"] === "string" ? message["auth"] : ""
  const [ours, theirs] = [Buffer.from(token), Buffer.from(given)]
  return ours.length === theirs.length && timingSafeEqual(ours, theirs)
}

/** The request, or why it is not one. */
export function readRequest(message: unknown): RpcRequest | string {
  if (!isRecord(message)) return "it is not a JSON object"
  const { tool, args = {} } = message
  if (typeof tool !== "string" || tool === "") return "the field tool is missing"
  return isRecord(args) ? { tool, args } : "the field args is not an object"
}

/** An answer as a line, or an error in its place when it is too long. */
export function boundedLine(answer: object): string {
  const line = JSON.stringify(answer)
  if (Buffer.byteLength(line) < MAX_LINE_BYTES) return line
  return JSON.stringify({ ...idOf(answer), error: `The result is longer than ${MAX_LINE_BYTES} bytes.` })
}

function idOf(message: unknown): { readonly id?: number | string } {
  const id = isRecord(message) ? message["id"] : undefined
  return typeof id === "number" || typeof id === "string" ? { id } : {}
}

function ignore(): void {
  // The connection was closed before the answer was sent.
}

function readLines(
  connection: Duplex,
  on: { readonly onStart: () => void; readonly onLine: (line: string) => void; readonly onTooLong: () => void },
): void {
  let parts: Buffer[] = []
  let bytes = 0
  let hasStarted = false
  connection.on("data", (chunk: Buffer) => {
    if (!hasStarted) on.onStart()
    hasStarted = true
    let rest = chunk
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)])
      parts = []
      bytes = 0
      rest = rest.subarray(end + 1)
      if (connection.destroyed) return
      if (line.length > MAX_LINE_BYTES) {
        on.onTooLong()
        return
      }
      on.onLine(line.toString("utf8"))
    }
    parts.push(rest)
    bytes += rest.length
    if (bytes <= MAX_LINE_BYTES) return
    parts = []
    bytes = 0
    connection.pause()
    on.onTooLong()
  })
}
