import { assertNever } from "../../base/assert-never.ts"
import type { CallRun, DispatchSession } from "./dispatch-session.ts"
import type { Outcome } from "./outcome.ts"
import { withArguments } from "./prepare.ts"
import type { PreparedCall } from "./prepare.ts"

/** The call as the hooks left it, and the outcome if one of them denied it. */
export interface HookedCallOutcome {
  readonly prepared: PreparedCall
  readonly denied?: Outcome
}

/** The hook stage of the door. Hooks see valid calls only; they may deny a call or rewrite its arguments, never allow more. */
export async function runHooks(
  prepared: PreparedCall,
  session: DispatchSession,
  { signal }: CallRun,
): Promise<HookedCallOutcome> {
  if (prepared.kind === "refused" || session.hooks === undefined || signal.aborted) return { prepared }
  const { entry, args, parsed } = prepared
  const { access, subjects } = parsed
  const decision = await session.hooks.beforeTool({
    tool: entry.name,
    entry,
    callId: prepared.call.id,
    args,
    access,
    subjects,
    signal,
  })
  switch (decision.kind) {
    case "allow":
      return { prepared }
    case "rewrite":
      return { prepared: await withArguments(prepared, decision.args, session) }
    case "ask":
      return { prepared: { ...prepared, parsed: { ...parsed, confirm: parsed.confirm ?? decision.reason } } }
    case "deny":
      return { prepared, denied: deniedByHook(decision.reason) }
    default:
      return assertNever(decision)
  }
}

function deniedByHook(reason: string): Outcome {
  return {
    how: "blocked",
    from: "door",
    result: { content: { error: `Not run: ${reason}`, status: "blocked" }, summary: `blocked by a hook: ${reason}` },
    decision: { by: "rule", rule: "hook", choice: "deny" },
  }
}
