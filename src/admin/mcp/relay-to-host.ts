import type { Interactions } from "../../agent/interactions.ts"
import type { Channel } from "../../base/channel.ts"
import { ellipsize } from "../../base/text.ts"
import type { ServedCall } from "../../mcp/server/served-call.ts"
import type { AgentEventBody, ApprovalRequest } from "../../protocol/events.ts"

const ALLOW = "Allow once"
const DENY = "Deny"
const MAX_ARGUMENT_CHARS = 1000

export interface HostRelay extends Pick<ServedCall, "onProgress" | "ask"> {
  readonly interactions: Interactions
  readonly redact: (text: string) => string
}

/** Passes what happens during a call to the host: progress, and approval requests to its user. Ends when the channel is closed. */
export async function relayToHost(events: Channel<AgentEventBody>, relay: HostRelay): Promise<void> {
  const ended = new AbortController()
  const asking: Promise<void>[] = []
  for await (const event of events) {
    if (event.type === "tool-progress") relay.onProgress?.(relay.redact(event.text))
    if (event.type === "approval-request") asking.push(askApproval(event, relay, ended.signal))
  }
  // The call may have settled without the answer, because the request timed out.
  ended.abort()
  await Promise.all(asking)
}

/** The host's user allows this call and no other. */
async function askApproval(
  { requestId, call, description }: ApprovalRequest,
  { ask, interactions, redact }: HostRelay,
  signal: AbortSignal,
): Promise<void> {
  if (ask === undefined) return
  const given = ellipsize(JSON.stringify(call.args), MAX_ARGUMENT_CHARS)
  const message = redact(
    `Hermes asks: may this program call ${call.name} with ${given}? Reason for asking: ${description}`,
  )
  const answer = await ask({ message, choices: [ALLOW, DENY] }, signal)
  interactions.answer(requestId, { kind: "approval", choice: answer === ALLOW ? "once" : "deny" })
}
