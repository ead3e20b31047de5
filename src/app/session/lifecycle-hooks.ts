import type { HookDecision, HookedCall } from "../../agent/facet.ts"
import { platformOf } from "../../agent/origin.ts"
import { isRecord } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import { createHookRunner } from "../../plugins/hooks/hook-runner.ts"
import type { ForeignCall, HookListener } from "../../plugins/hooks/hook-runner.ts"
import type { HookEvent, HookPayload } from "../../plugins/hooks/hook-events.ts"
import { divideByConsent, findShellHooks } from "../../plugins/shell-hooks/find-hooks.ts"
import { AskFirst, MessageRefusal, NoteForModel, OtherArguments } from "../../plugins/shell-hooks/hook-answers.ts"
import { shellHookListener, unapprovedListener } from "../../plugins/shell-hooks/run-hook.ts"
import { contentText } from "../../protocol/message.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import { defuseSteerMarkers, HOOK_TEXT_OPENING } from "../../toolkit/untrusted.ts"
import type { AppFacet, FacetContext } from "./facet-context.ts"
import { observingRequests } from "./observed-requests.ts"

const MAX_CONTEXT_CHARS = 20_000
const MAX_REASON_CHARS = 1000

/** Calls the hooks of plugins, then those of the settings, on the events of one session. Hooks can refuse and add, never allow. */
export function createLifecycleHooks(context: FacetContext): AppFacet {
  const { services, options, taskId, workspace } = context
  const { clock, log, plugins } = services
  const found = findListeners(context)
  const listeners = (): readonly HookListener[] => [
    ...(plugins?.loaded.all().flatMap((contributions) => contributions.listeners) ?? []),
    ...found.listeners,
  ]
  const runner = createHookRunner(listeners, { clock, log })
  const platform = platformOf(options.origin)
  let turnId = ""
  let isNew = options.resume === undefined
  let refusal: string | undefined
  let running = false
  /** Approval requests without an answer, by id. */
  const questions = new Map<string, HookPayload>()
  /** Observers are called one after the other and never delay a turn. */
  let queue: Promise<void> = Promise.resolve()
  const base = (): HookPayload => ({
    session_id: context.session().conversation.id,
    task_id: taskId,
    turn_id: turnId,
    platform,
  })
  const observe = (event: HookEvent, payload: () => HookPayload): void => {
    if (!runner.has(event)) return
    const full = { ...base(), ...payload() }
    queue = queue.then(() => runner.observe(event, full))
  }

  return {
    name: "hooks",
    openingWarnings: () => found.warnings,
    opened: () => {
      if (options.child === undefined) services.conversations.add(taskId)
    },
    ports: () => ({
      transformOutput: async ({ command, output, exitCode, cwd }) =>
        runner.has("transform_terminal_output")
          ? await runner.first(
              "transform_terminal_output",
              { ...base(), command, output, exit_code: exitCode, cwd, env_type: workspace.kind },
              textOf,
            )
          : undefined,
    }),
    wrapModel: (model) =>
      observingRequests(model, { runner, base, clock, redact: (text) => services.redactor.redact(text) }),
    beforeTurn: async ({ text, history, model }) => {
      refusal = undefined
      const facts = { model: model.runtime.model, permission_profile: context.session().dispatch.permissions.profile }
      const notes: string[] = []
      if (isNew) {
        isNew = false
        const start = { ...base(), ...facts, source: "startup" }
        notes.push(...(await runner.all("on_session_start", start, (answer) => noteOf(answer))))
      }
      if (runner.has("pre_llm_call")) {
        const payload = {
          ...base(),
          ...facts,
          user_message: text,
          conversation_history: history,
          is_first_turn: history.length === 0,
          sender_id: options.origin.identity?.userId ?? "",
        }
        const answers = await runner.all("pre_llm_call", payload, contextOf)
        refusal = answers.find((answer) => answer instanceof MessageRefusal)?.reason
        notes.push(...answers.filter((answer) => typeof answer === "string"))
      }
      if (notes.length === 0) return ""
      const shown = notes.map((note) => ellipsize(defuseSteerMarkers(note), MAX_CONTEXT_CHARS))
      return [HOOK_TEXT_OPENING, ...shown].join("\n\n")
    },
    refusesTurn: () => (refusal === undefined ? undefined : ellipsize(refusal, MAX_REASON_CHARS)),
    beforeTool: async (call) => {
      if (!runner.has("pre_tool_call")) return { kind: "allow" }
      const { tool, callId, args, entry } = call
      const profile = context.session().dispatch.permissions.profile
      const payload = { ...base(), tool_name: tool, args, tool_call_id: callId, permission_profile: profile }
      const decision = await runner.first(
        "pre_tool_call",
        payload,
        (answer) => decisionOf(answer, call),
        foreignCall(entry, args),
      )
      return decision ?? { kind: "allow" }
    },
    toolEnded: async ({ tool, callId, args, entry, outcome, text, error, durationMs }) => {
      if (!runner.has("post_tool_call") && !runner.has("transform_tool_result")) return undefined
      const payload = {
        ...base(),
        tool_name: tool,
        args,
        tool_call_id: callId,
        result: text,
        duration_ms: durationMs,
        status: outcome,
        error_type: error === undefined ? null : outcome,
        error_message: error ?? null,
      }
      const foreign = foreignCall(entry, args)
      const notes = await runner.all("post_tool_call", payload, noteOf, foreign)
      const replaced = await runner.first("transform_tool_result", payload, textOf, foreign)
      if (notes.length === 0) return replaced
      return JSON.stringify({
        ...recordOf(replaced ?? text),
        hook_notes: notes.map((note) => ellipsize(note, MAX_REASON_CHARS)),
      })
    },
    transformAnswer: async (text) =>
      runner.has("transform_llm_output")
        ? await runner.first("transform_llm_output", { ...base(), response_text: text }, textOf)
        : undefined,
    eventEmitted: (event) => {
      switch (event.type) {
        case "run-start":
          turnId = event.runId
          running = true
          return
        case "approval-request": {
          const { command = "", description, rule, call } = event
          const facts = {
            request_id: event.requestId,
            command,
            description,
            pattern_key: rule,
            pattern_keys: [rule],
            session_key: taskId,
            surface: platform,
            tool_name: call.name,
          }
          questions.set(event.requestId, facts)
          observe("pre_approval_request", () => facts)
          return
        }
        case "status":
          if (event.kind === "answered" && event.question === "approval") {
            const { choice, requestId } = event
            const facts = questions.get(requestId) ?? { request_id: requestId, session_key: taskId, surface: platform }
            questions.delete(requestId)
            observe("post_approval_response", () => ({ ...facts, choice }))
          }
          if (event.kind === "permission-profile")
            observe("permission_profile_changed", () => ({ old: event.old, new: event.new, by: event.by }))
          return
        default:
      }
    },
    delegationStarted: ({ goal, role, childTaskId }) => {
      observe("subagent_start", () => ({
        parent_session_id: base()["session_id"],
        child_session_id: childTaskId,
        child_role: role,
        goal,
      }))
    },
    delegationEnded: ({ goal, role, childTaskId, status, summary, durationMs }) => {
      observe("subagent_stop", () => ({
        parent_session_id: base()["session_id"],
        child_session_id: childTaskId,
        child_role: role,
        child_summary: summary,
        child_status: status === "timeout" ? "failed" : status,
        goal,
        duration_ms: durationMs,
      }))
    },
    afterTurn: ({ input, end: { outcome, result }, model: client }) => {
      running = false
      const { model } = client.runtime
      const { finalResponse, messages, exitReason } = result
      if (finalResponse !== null && outcome !== "interrupted") {
        observe("post_llm_call", () => ({
          user_message: contentText(input),
          assistant_response: finalResponse,
          conversation_history: messages,
          model,
        }))
      }
      observe("on_session_end", () => ({
        completed: outcome === "completed",
        interrupted: outcome === "interrupted",
        assistant_response: finalResponse,
        model,
        reason: exitReason,
      }))
    },
    close: async (reason) => {
      if (running) observe("on_session_end", () => ({ completed: false, interrupted: true, reason }))
      services.conversations.delete(taskId)
      const next = REPLACED.has(reason) ? [...services.conversations].at(-1) : undefined
      const ids = next === undefined ? {} : { old_session_id: base()["session_id"], new_session_id: next }
      observe("on_session_finalize", () => ({ reason, ...ids }))
      if (next !== undefined) observe("on_session_reset", () => ({ reason, ...ids, session_id: next }))
      await queue
    },
  }
}

/** The reasons for which a conversation ends because the user goes on in another one. */
const REPLACED: ReadonlySet<string> = new Set(["new_session", "resumed_other", "branched", "session_switch"])

function findListeners(context: FacetContext): {
  readonly listeners: readonly HookListener[]
  readonly warnings: readonly string[]
} {
  const { services, workspace, options } = context
  const { config, home, environment, log } = services
  if (environment.truthy("HERMES_SAFE_MODE")) return { listeners: [], warnings: [] }
  const { hooks, warnings } = findShellHooks({ config, home, cwd: options.cwd })
  const { approved, waiting } = divideByConsent(hooks, { config, home })
  for (const warning of warnings) log.warning(warning)
  const skipped = waiting.map(
    ({ event, command, file, failClosed }) =>
      `the hook \`${ellipsize(command, 100)}\` for ${event}${file === undefined ? "" : ` of ${file}`} is skipped, because you have not approved it${failClosed ? ", and the calls that it would check are denied" : ""}; approve it with \`hermes hooks approve\``,
  )
  // On another machine the working directory of the session does not exist here.
  const cwd = (): string => (workspace.kind === "local" ? workspace.cwd() : options.cwd)
  const host = { home, environment, log, cwd }
  const listeners = hooks.flatMap((hook) => {
    if (approved.includes(hook)) return [shellHookListener(hook, host)]
    return hook.failClosed ? [unapprovedListener(hook)] : []
  })
  return { listeners, warnings: [...warnings, ...skipped] }
}

function foreignCall(entry: ToolEntry, args: Readonly<Record<string, unknown>>): ForeignCall | undefined {
  const { claudeCode } = entry
  if (claudeCode === undefined) return undefined
  const renamed = claudeCode.arguments ?? {}
  return {
    tool: claudeCode.name,
    args: Object.fromEntries(Object.entries(args).map(([name, value]) => [renamed[name] ?? name, value])),
    renamed,
  }
}

/** Only a block has an effect. Whatever else a hook answers, `allow` included, the policy decides. */
function decisionOf(answer: unknown, { args }: HookedCall): HookDecision | undefined {
  if (answer instanceof AskFirst) return { kind: "ask", reason: ellipsize(answer.reason, MAX_REASON_CHARS) }
  if (answer instanceof OtherArguments) return { kind: "rewrite", args: { ...args, ...answer.args } }
  if (!isRecord(answer) || answer["action"] !== "block") return undefined
  const { message } = answer
  if (typeof message !== "string" || message.trim() === "") return undefined
  return { kind: "deny", reason: ellipsize(message, MAX_REASON_CHARS) }
}

function contextOf(answer: unknown): string | MessageRefusal | undefined {
  if (answer instanceof MessageRefusal) return answer
  return textOf(isRecord(answer) ? answer["context"] : answer)
}

function noteOf(answer: unknown): string | undefined {
  return answer instanceof NoteForModel ? answer.text : undefined
}

function textOf(answer: unknown): string | undefined {
  return typeof answer === "string" && answer.trim() !== "" ? answer : undefined
}

function recordOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text)
    return isRecord(parsed) ? parsed : { result: text }
  } catch {
    return { result: text }
  }
}
