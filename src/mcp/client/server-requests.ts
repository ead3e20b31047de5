import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/client"
import type { Client } from "@modelcontextprotocol/client"

import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import type { ServerSettings } from "../server-settings.ts"
import type { CallScope } from "./call-scope.ts"
import type { CallTimer } from "./call-timer.ts"
import { askElicitation } from "./elicitation.ts"
import { createSamplingGate } from "./sampling.ts"

/** Who answers a request of a server: the session of the newest call that is running, or else the one that used it last. */
export interface Answerer {
  readonly scope: CallScope
  readonly timer?: CallTimer
}

export interface ServerRequestOptions {
  readonly settings: ServerSettings
  readonly answerer: () => Answerer | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** Answers what a server asks for: directories, completions, and input from the user. */
export function handleServerRequests(client: Client, options: ServerRequestOptions): void {
  const { settings, answerer } = options
  client.setRequestHandler("roots/list", () => ({ roots: [...(answerer()?.scope.roots() ?? [])] }))
  // The SDK refuses a handler for what the client did not declare.
  if (settings.sampling.enabled) answerSampling(client, options)
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    const answering = answerer()
    const ask = answering?.scope.ask
    if (answering === undefined || ask === undefined) return { action: "decline" }
    const question = {
      message: params.message,
      ...("requestedSchema" in params ? { requestedSchema: params.requestedSchema } : {}),
      ...("url" in params ? { url: params.url } : {}),
    }
    const answer = await uncounted(answering, () => askElicitation(question, { server: settings.name, ask }))
    return { ...answer }
  })
}

function answerSampling(client: Client, { settings, answerer, clock, log }: ServerRequestOptions): void {
  const gate = createSamplingGate(settings, clock)
  client.setRequestHandler("sampling/createMessage", async ({ params }, { mcpReq }) => {
    const admitted = gate.admit(params)
    if (!admitted.ok) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, admitted.error)
    const answering = answerer()
    if (answering === undefined) throw new ProtocolError(ProtocolErrorCode.InternalError, "no session is open")
    const reply = await uncounted(answering, () => answering.scope.sample(admitted.value, mcpReq.signal))
    if (!reply.ok) throw new ProtocolError(ProtocolErrorCode.InternalError, reply.error)
    const { model, text, calls } = reply.value
    log.info(`${settings.name}: answered a sampling request with ${model}`)
    if (calls.length === 0) return { model, role: "assistant", stopReason: "endTurn", content: { type: "text", text } }
    return {
      model,
      role: "assistant",
      stopReason: "toolUse",
      content: [
        ...(text === "" ? [] : [{ type: "text" as const, text }]),
        ...calls.map((call) => ({ type: "tool_use" as const, ...call })),
      ],
    }
  })
}

async function uncounted<T>({ timer }: Answerer, work: () => Promise<T>): Promise<T> {
  return timer === undefined ? await work() : await timer.whilePaused(work)
}
