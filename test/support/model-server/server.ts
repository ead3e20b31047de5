import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import { assertNever } from "../../../src/base/assert-never.ts"
import { isRecord, parseJson, stringField } from "../../../src/base/json.ts"
import { errorMessage } from "../../../src/base/system-error.ts"
import { resolveReply } from "./resolve-reply.ts"
import type { PreparedResponse } from "./delivery.ts"
import { deliver } from "./delivery.ts"
import { modelList } from "./model-list.ts"
import type { ResponseOutcome, MessageView, RecordedRequest, RequestView, ToolResultView } from "./recorded-request.ts"
import type { ScriptEntry, StatusTurn, Turn } from "./turn.ts"
import type { Frame, PathMatch, Wire } from "./wire.ts"
import { callsOf } from "./wire.ts"
import { matchWire, wireNamed } from "./wires/table.ts"

export interface ModelServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, without a path. */
  readonly url: string
  /** The model requests, in order of arrival. */
  readonly requests: readonly RecordedRequest[]
  /** Every other request (model lists, probes of local servers) as `GET /path`. */
  readonly probes: readonly string[]
  /** Requests for which the script had no turn. A test expects none. */
  readonly unanswered: readonly RecordedRequest[]
  push(...turns: readonly ScriptEntry[]): void
  /** Waits for the request with this index. */
  received(index: number): Promise<RecordedRequest>
  /** The content of request `index`, in a form that is the same for every wire format. */
  view(index: number): RequestView
  /** The tool results that request `index` added: those after the last assistant message. */
  toolResults(index: number): readonly ToolResultView[]
  close(): Promise<void>
}

export interface ModelServerOptions {
  /** The models in the model list. */
  readonly models?: readonly string[]
  /** Responses to requests other than model requests, by `GET /path`. Unlisted paths return 404. */
  readonly routes?: Readonly<Record<string, StatusTurn>>
  /** Called for each model request when its body has arrived. */
  readonly onRequest?: (request: RecordedRequest) => void
  /** Repeats the script when it ends. */
  readonly cycle?: boolean
}

/** Starts a model server on loopback. Each model request takes the next turn of the script. */
export async function startModelServer(
  script: readonly ScriptEntry[] = [],
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const server = new ScriptedServer(script, options)
  await server.listen()
  return server
}

class ScriptedServer implements ModelServer {
  readonly requests: RecordedRequest[] = []
  readonly probes: string[] = []
  readonly unanswered: RecordedRequest[] = []
  readonly #options: ModelServerOptions
  readonly #script: ScriptEntry[]
  readonly #matches: PathMatch[] = []
  readonly #arrivals = new Map<number, PromiseWithResolvers<RecordedRequest>>()
  readonly #http = createServer({ keepAliveTimeout: 60_000 })
  #closed = false
  #next = 0
  #replies = 0
  #calls = 0

  constructor(script: readonly ScriptEntry[], options: ModelServerOptions) {
    this.#script = [...script]
    this.#options = options
    this.#http.on("request", (incoming, response) => {
      this.#handle(incoming, response).catch((error: unknown) => {
        if (!response.headersSent) response.writeHead(500, { "content-type": "text/plain" })
        response.end(`model server: ${errorMessage(error)}`)
      })
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
  }

  async listen(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#http.once("error", reject)
    this.#http.listen(0, "127.0.0.1", resolve)
    await promise
  }

  push(...turns: readonly ScriptEntry[]): void {
    this.#script.push(...turns)
  }

  received(index: number): Promise<RecordedRequest> {
    const request = this.requests[index]
    if (request !== undefined) return Promise.resolve(request)
    const waiting = this.#arrivals.get(index) ?? Promise.withResolvers<RecordedRequest>()
    this.#arrivals.set(index, waiting)
    return waiting.promise
  }

  view(index: number): RequestView {
    const request = this.requests[index]
    const match = this.#matches[index]
    if (request === undefined || match === undefined) {
      throw new Error(`there is no request ${index}: the server received ${this.requests.length}`)
    }
    const view = wireNamed(request.wire).view(request.body, match)
    const messages = view.messages.map((message) => ({ ...message, results: message.results.map(withoutFence) }))
    return { ...view, messages: mergeByRole(messages) }
  }

  toolResults(index: number): readonly ToolResultView[] {
    const { messages } = this.view(index)
    const lastAssistant = messages.findLastIndex((message) => message.role === "assistant")
    return messages.slice(lastAssistant + 1).flatMap((message) => message.results)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#http.close(() => resolve())
    this.#http.closeAllConnections()
    await promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(incoming)
    const found = incoming.method === "POST" ? matchWire(path) : undefined
    const rawBody = await readBody(incoming)
    if (found === undefined) {
      this.#respondToProbe(incoming, response)
      return
    }
    const { wire, match } = found
    const outcome = Promise.withResolvers<ResponseOutcome>()
    const request: RecordedRequest = {
      wire: wire.name,
      method: "POST",
      path,
      headers: flatHeaders(incoming),
      rawBody,
      body: parseJson(rawBody),
      at: Date.now(),
      outcome: outcome.promise,
    }
    this.#record(request, match)
    // A rejected request takes no turn of the script.
    const rejection = wire.rejection?.(request.body, match)
    const turn: Turn =
      rejection === undefined ? await this.#takeTurn(request) : { kind: "status", status: 400, message: rejection }
    const prepared = this.#prepareResponse({ turn, request, wire, match })
    const end = await deliver(prepared, response)
    outcome.resolve(end === "lost" ? (this.#closed ? "closed" : "left") : end)
  }

  #record(request: RecordedRequest, match: PathMatch): void {
    const index = this.requests.push(request) - 1
    this.#matches.push(match)
    this.#options.onRequest?.(request)
    this.#arrivals.get(index)?.resolve(request)
  }

  async #takeTurn(request: RecordedRequest): Promise<Turn> {
    if (this.#options.cycle === true && this.#next === this.#script.length) this.#next = 0
    const entry = this.#script[this.#next]
    if (entry === undefined) {
      return this.#noTurn(request, `the script has no turn left for ${request.path}: add a turn or use repeat()`)
    }
    const turn = typeof entry !== "function" && entry.kind === "repeat" ? entry.turn : entry
    if (turn === entry) this.#next += 1
    if (typeof turn !== "function") return turn
    try {
      return await turn(request)
    } catch (error) {
      return this.#noTurn(request, `the turn function failed: ${errorMessage(error)}`)
    }
  }

  #noTurn(request: RecordedRequest, reason: string): Turn {
    this.unanswered.push(request)
    return {
      kind: "status",
      status: 400,
      message: `Model server, request ${this.requests.indexOf(request)}: ${reason}`,
    }
  }

  #prepareResponse(received: { turn: Turn; request: RecordedRequest; wire: Wire; match: PathMatch }): PreparedResponse {
    const { turn, request, wire, match } = received
    this.#replies += 1
    const idHeader = { [wire.requestIdHeader]: `req_${this.#replies}` }
    const streams = wire.wantsStream(request.body, match)
    const headers = { "content-type": streams ? wire.streamType(match) : "application/json", ...idHeader }
    switch (turn.kind) {
      case "status":
        return statusResponse(turn, wire, idHeader)
      case "raw":
        return okResponse(turn, [{ bytes: turn.bytes, delta: true }], headers)
      case "empty":
        return okResponse(turn, [], headers)
      case "hang-up":
        return { ...okResponse(turn, [], {}), status: null }
      case "reply": {
        const reply = resolveReply(turn, {
          serial: this.#replies,
          firstCallSerial: this.#calls + 1,
          model: match.model ?? stringField(request.body, "model") ?? "",
          body: request.body,
          match,
        })
        this.#calls += callsOf(reply).length
        const frames = streams ? wire.stream(reply) : [{ bytes: JSON.stringify(wire.complete(reply)), delta: true }]
        const damage = (frame: Frame) => (streams ? wire.corrupt(frame) : firstHalf(frame))
        return okResponse(turn, damageDelta(frames, turn.corruptDelta, damage), headers)
      }
      default:
        return assertNever(turn)
    }
  }

  #respondToProbe(incoming: IncomingMessage, response: ServerResponse): void {
    const path = pathOf(incoming)
    const key = `${incoming.method} ${path}`
    this.probes.push(key)
    const route = this.#options.routes?.[key]
    const list = incoming.method === "GET" ? modelList(path, incoming.headers, this.#options.models) : undefined
    const scripted: StatusTurn =
      route ??
      (list === undefined
        ? { kind: "status", status: 404, body: { error: { message: `Unknown path ${path}` } } }
        : { kind: "status", status: 200, body: list })
    const { bytes, headers } = statusBody(scripted.body)
    response.writeHead(scripted.status, { ...headers, ...scripted.headers })
    response.end(bytes)
  }
}

/** A client that uses the server as its proxy names the host as well. */
function pathOf({ url = "/" }: IncomingMessage): string {
  return url.replace(/^http:\/\/[^/]+/u, "")
}

function okResponse(turn: Turn, frames: readonly Frame[], headers: Record<string, string>): PreparedResponse {
  return { status: 200, headers: { ...headers, ...turn.headers }, frames, delivery: turn }
}

function statusResponse(turn: StatusTurn, wire: Wire, idHeader: Record<string, string>): PreparedResponse {
  const vendor = wire.failure(turn.status, turn.message ?? `Scripted failure ${turn.status}`)
  const isVendor = turn.body === undefined
  const { bytes, headers } = statusBody(isVendor ? vendor.body : turn.body)
  return {
    status: turn.status,
    headers: { ...headers, ...idHeader, ...(isVendor ? vendor.headers : {}), ...turn.headers },
    frames: [{ bytes, delta: true }],
    delivery: turn,
  }
}

function statusBody(body: unknown): { bytes: string; headers: Record<string, string> } {
  if (typeof body !== "string")
    return { bytes: JSON.stringify(body ?? {}), headers: { "content-type": "application/json" } }
  const isJson = isRecord(parseJson(body))
  return { bytes: body, headers: { "content-type": isJson ? "application/json" : "text/plain; charset=utf-8" } }
}

/** Merges consecutive messages of one role, so that requests of all wire formats can be compared: some forbid them, others require them. */
function mergeByRole(messages: readonly MessageView[]): readonly MessageView[] {
  const merged: MessageView[] = []
  for (const message of messages) {
    const last = merged.at(-1)
    if (last === undefined || last.role !== message.role) merged.push(message)
    else {
      merged[merged.length - 1] = {
        role: last.role,
        text: [last.text, message.text].filter((text) => text !== "").join("\n"),
        calls: [...last.calls, ...message.calls],
        results: [...last.results, ...message.results],
      }
    }
  }
  return merged
}

function damageDelta(
  frames: readonly Frame[],
  target: number | undefined,
  damage: (frame: Frame) => Frame,
): readonly Frame[] {
  if (target === undefined) return frames
  let seen = -1
  return frames.map((frame) => {
    if (frame.delta) seen += 1
    return frame.delta && seen === target ? damage(frame) : frame
  })
}

function firstHalf(frame: Frame): Frame {
  const text = String(frame.bytes)
  return { ...frame, bytes: text.slice(0, Math.floor(text.length / 2)) }
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

function flatHeaders(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value
  }
  return headers
}

/** The result as the tool returned it: each conversation has its own fence. */
function withoutFence(result: ToolResultView): ToolResultView {
  const [, text, notes = ""] =
    /^\[data (?:[0-9a-f]{8})\]\n([^]*)\n\[\/data [0-9a-f]{8}\]([^]*)$/u.exec(result.text) ?? []
  return text === undefined ? result : { ...result, text: text + notes }
}
