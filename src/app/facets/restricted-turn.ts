import { noCompression } from "../../agent/context/no-compression.ts"
import { Conversation } from "../../agent/conversation.ts"
import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"
import { Interactions } from "../../agent/interactions.ts"
import type { BilledCall, Journal } from "../../agent/journal.ts"
import type { TurnParts } from "../../agent/turn.ts"
import { NO_MASK } from "../../base/redact-stream.ts"
import { ok } from "../../base/result.ts"
import type { Message } from "../../protocol/message.ts"
import type { OpenSessionParts } from "../session/facet-context.ts"

/** The tools that only change memory and learnings. */
export const REMEMBERING_ROLES: ReadonlySet<string | undefined> = new Set(["memory", "learnings"])

/** The same door with only the memory tools, without hooks, guardrails or a user to ask. */
export function rememberingDispatch({ dispatch }: Pick<OpenSessionParts, "dispatch">): DispatchSession {
  const { guardrails: _guardrails, hooks: _hooks, ...rest } = dispatch
  return {
    ...rest,
    tools: new Map([...dispatch.tools].filter(([, { role }]) => REMEMBERING_ROLES.has(role))),
    permissions: dispatch.permissions.restricted(),
  }
}

export function noInteractions({ dispatch }: Pick<OpenSessionParts, "dispatch">): Interactions {
  return new Interactions(dispatch.clock)
}

/**
 * The parts of a turn that continues a copy of the conversation with the memory tools. It shares the prompt, so that the
 * provider's cache is used, and leaves no trace in the session except its cost.
 */
export function rememberingTurnParts(
  parts: OpenSessionParts,
  {
    history,
    maxIterations,
    recordCall,
    dispatch = rememberingDispatch(parts),
  }: {
    readonly history: readonly Message[]
    readonly maxIterations: number
    readonly recordCall: (call: BilledCall) => Promise<void>
    /** By default the one with the memory tools. */
    readonly dispatch?: DispatchSession
  },
): TurnParts {
  const { id, system } = parts.conversation
  return {
    ...parts,
    conversation: new Conversation({ id, system, history, journal: billingOnly(parts, recordCall) }),
    tools: parts.allTools.filter(({ name }) => dispatch.tools.has(name)),
    dispatch,
    compression: noCompression,
    spending: parts.spending.inBackground(),
    maxIterations,
    budgetPressure: false,
    // Its text is not shown.
    maskStream: () => NO_MASK,
  }
}

function billingOnly({ conversation }: OpenSessionParts, recordCall: (call: BilledCall) => Promise<void>): Journal {
  return {
    append: async (_messages, call) => {
      if (call !== undefined) await recordCall(call)
    },
    keepPartial: () => undefined,
    reshape: () => Promise.resolve(),
    rotate: () => Promise.resolve(ok(conversation)),
    rewind: () => Promise.resolve(),
    lockCompression: () => Promise.resolve(undefined),
  }
}
