import { toolFailureText } from "../../toolkit/error-text.ts"
import type { CalledTool, CallToolPort } from "../../toolkit/ports/call-tool.ts"
import type { FileTracker } from "../../toolkit/ports/files.ts"
import type { ToolContext } from "../../toolkit/tool.ts"
import { createCallQueue } from "./call-queue.ts"
import { collectNotes } from "./collect-notes.ts"
import type { CallRun, DispatchSession, InnerCallRecord } from "./dispatch-session.ts"
import type { Settled } from "./settled.ts"
import { plannedCall } from "./planned-call.ts"
import { prepareCall } from "./prepare.ts"
import type { PreparedCall, ReadyCall } from "./prepare.ts"

/** A result that a script filters never reaches the model, so it may be longer than one that does. */
const MAX_RESULT_CHARS = 2_000_000
const MAX_NOTES = 8

export interface InnerCalls {
  readonly port: CallToolPort
  /** What belongs below the result of the outer call, each note once. */
  notes(): readonly string[]
  /** Aborts the calls that still run and waits for them. Later calls do not run. */
  end(): Promise<void>
}

interface InnerCallOptions {
  readonly session: DispatchSession
  readonly run: CallRun
  readonly passDoor: (call: PreparedCall, session: DispatchSession, run: CallRun) => Promise<Settled>
}

/** Who makes the calls: another call, or the user with the text of a message. */
type Caller = { readonly kind: "call"; readonly outer: ReadyCall } | { readonly kind: "user" }

/** Lets a call or a message of the user make calls. They belong to the same run and task, and end with their caller at the latest. */
export function createInnerCalls(caller: Caller, { session, run, passDoor }: InnerCallOptions): InnerCalls {
  const callerId = caller.kind === "call" ? caller.outer.call.id : `user_${run.runId}`
  const ended = new AbortController()
  const innerRun: CallRun = { ...run, signal: AbortSignal.any([run.signal, ended.signal]), heartbeat: false }
  const callable = new Map([...session.tools].filter(([, entry]) => entry.inScripts === true))
  // A loop in a script is not a model that repeats itself, so a script does not use up the counts of the turn.
  const { guardrails } = session
  const innerSession: DispatchSession = {
    ...session,
    tools: callable,
    ...(guardrails === undefined ? {} : { guardrails: guardrails.separate() }),
    context: (...given) => withoutRepeatChecks(session.context(...given)),
    resultBudget: {
      ...session.resultBudget,
      overrides: Object.fromEntries(Array.from(callable.keys(), (name) => [name, MAX_RESULT_CHARS])),
    },
  }
  const queue = createCallQueue()
  const pending = new Set<Promise<unknown>>()
  const notes = new Set<string>()
  let count = 0

  const call = async (name: string, given: Readonly<Record<string, unknown>>): Promise<CalledTool> => {
    count += 1
    const id = `${callerId}.${count}`
    const ignored = (callable.get(name)?.scripts?.omits ?? []).filter((argument) => argument in given)
    const args = Object.entries(given).filter(([argument]) => !ignored.includes(argument))
    const text = JSON.stringify(Object.fromEntries(args))
    const prepared = await prepareCall({ id, type: "function", function: { name, arguments: text } }, innerSession)
    const shown = caller.kind === "call" ? { ...prepared.shown, parentId: callerId } : prepared.shown
    const settled = await queue.run(plannedCall(prepared, session), async () => {
      const done = await passDoor({ ...prepared, shown }, innerSession, innerRun)
      run.events.push(done.end)
      return done
    })
    session.noteInnerCall?.(recordOf(settled))
    // A warning about repeated calls is for the model, which has not repeated itself.
    const { warning: _warning, ...unwarned } = settled
    for (const note of await collectNotes(unwarned, innerSession, innerRun.signal))
      if (notes.size < MAX_NOTES) notes.add(note)
    logCall(settled, session)
    return { outcome: settled.outcome.how, text: textOf(settled.result), ignored, ...refusalOf(settled) }
  }
  return {
    port: {
      tools: [...callable.values()],
      call: async (name, args) => {
        const called = call(name, args).catch((error: unknown): CalledTool => ({
          outcome: "error",
          text: JSON.stringify({ error: toolFailureText(error) }),
          ignored: [],
        }))
        pending.add(called)
        const result = await called
        pending.delete(called)
        return result
      },
      onUserWait: (changed) => run.interactions.watch(changed),
    },
    notes: () => [...notes],
    end: async () => {
      ended.abort()
      await Promise.all(pending)
    },
  }
}

/**
 * What a script reads is not in the conversation: the script may read it as often as it wants, and the model has not seen it. The
 * warnings about files that changed in between stay.
 */
function withoutRepeatChecks(context: ToolContext): ToolContext {
  const { files } = context.ports
  if (files === undefined) return context
  const tracker: FileTracker = {
    ...files,
    timesRequestedAgain: () => 0,
    timesInARow: () => 1,
    recordRead: (window, seen) => {
      files.recordRead(window, seen)
      files.forgetFile(window.path)
    },
  }
  return { ...context, ports: { ...context.ports, files: tracker } }
}

/** The complete result, unless it was too long and is in a file now. */
function textOf({ content, whole, truncated }: Settled["result"]): string {
  return truncated && typeof content === "string" ? content : whole
}

function refusalOf({ outcome: { how, decision, result } }: Settled): Pick<CalledTool, "refusal"> {
  if ((how !== "denied" && how !== "blocked") || decision === undefined) return {}
  return { refusal: { by: decision.by, reason: result.summary.replace(/^(?:blocked|not allowed|not run): /u, "") } }
}

/** As an exchange of the conversation would record it, for the judgement of later calls. It is not part of the history. */
function recordOf({ prepared: { call, shown }, result }: Settled): InnerCallRecord {
  return { call, tool: shown.name, text: result.whole, provenance: result.provenance }
}

function logCall({ prepared: { shown }, result, end }: Settled, { log }: DispatchSession): void {
  const record = { type: "sandbox_tool_call", tool: shown.name, duration: end.durationMs / 1000, status: end.outcome }
  log?.info(JSON.stringify({ ...record, result_chars: result.whole.length }))
}
