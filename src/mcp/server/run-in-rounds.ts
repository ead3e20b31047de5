import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
} from "@modelcontextprotocol/server"
import type {
  InputRequest,
  InputRequiredResult,
  McpServer,
  RequestStateCodec,
  ServerContext,
} from "@modelcontextprotocol/server"

import { isRecord } from "../../base/json.ts"
import { secretHex } from "../../base/random-and-hash.ts"
import type { OpenCalls, Round } from "./open-calls.ts"
import type { HostQuestion, ServedResult } from "./served-call.ts"

/** What a host echoes with the answer to a question. It is signed, so it is the server's own. */
export type RoundStateCodec = RequestStateCodec

/** One for all clients: a host of a later revision may send each round on a new connection. */
export function createRoundStateCodec(): RoundStateCodec {
  return createRequestStateCodec({
    key: secretHex(32),
    // The question's own time limit decides.
    ttlSeconds: 24 * 3600,
    bind: ({ sessionId = "", mcpReq: { method } }) => `${method}\n${sessionId}`,
  })
}

export interface RoundOptions {
  readonly calls: OpenCalls
  readonly codec: RoundStateCodec
}

/** A call in one request, or in several when the host's user is asked in between. */
export type RunInRounds = (
  call: { readonly tool: string; readonly args: Readonly<Record<string, unknown>> },
  context: ServerContext,
) => Promise<ServedResult | InputRequiredResult>

const ANSWER = "answer"

/**
 * Hosts of 2026-07-28 answer a question by sending the call again. For older hosts the SDK sends the question and repeats the call itself, so
 * both take this path.
 */
export function runInRounds(server: McpServer, { calls, codec }: RoundOptions): RunInRounds {
  return async (call, context) => {
    const { mcpReq } = context
    const state = mcpReq.requestState()
    const canAsk = canAskForms(clientCapabilities(server, context))
    const open = state === undefined ? calls.start({ ...call, canAsk }) : findCall(calls, state, call)
    if (open === undefined) return CLOSED
    const response = inputResponse(mcpReq.inputResponses, ANSWER)
    if (response.kind === "elicit") {
      const given = response.action === "accept" ? response.content?.[ANSWER] : undefined
      open.answer(typeof given === "string" ? given : undefined)
    }
    const step = await open.step({ signal: mcpReq.signal, ...progressOf(context) })
    if (step.kind === "result") return step.result
    return inputRequired({
      inputRequests: { [ANSWER]: formFor(step.question) },
      requestState: await codec.mint({ call: open.id }, context),
    })
  }
}

const CLOSED: ServedResult = {
  text: JSON.stringify({ error: "The question is no longer open. Send the call again." }),
  outcome: "error",
}

function findCall(calls: OpenCalls, state: unknown, call: Parameters<RunInRounds>[0]): ReturnType<OpenCalls["find"]> {
  const id = isRecord(state) ? state["call"] : undefined
  return typeof id === "string" ? calls.find(id, call) : undefined
}

/** Declared with each request since 2026-07-28, before that once in `initialize`. */
function clientCapabilities(server: McpServer, { mcpReq }: ServerContext): unknown {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope }
  return envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities()
}

/** A host that declares only `url` opens pages and has no forms. */
function canAskForms(declared: unknown): boolean {
  const elicitation = isRecord(declared) ? declared["elicitation"] : undefined
  return isRecord(elicitation) && ("form" in elicitation || !("url" in elicitation))
}

function formFor({ message, choices }: HostQuestion): InputRequest {
  const answer = { type: "string" as const, title: "Answer", enum: [...choices] }
  return inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [ANSWER]: answer }, required: [ANSWER] },
  })
}

/** Hosts extend their time limit for a call whenever it reports progress. */
function progressOf({ mcpReq }: ServerContext): Pick<Round, "onProgress"> {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return {}
  let progress = 0
  return {
    onProgress: (message) => {
      progress += 1
      const params = { progressToken, progress, message }
      // The host may have disconnected; the call then ends by its signal.
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined)
    },
  }
}
