import { assertNever } from "../../base/assert-never.ts"
import type { AgentEvent, RunEnd, StatusEvent } from "../../protocol/events.ts"

/** One line of `stream-json` without its sequence number and timestamp. */
export interface StreamLine {
  readonly type: string
  readonly [field: string]: unknown
}

export interface StreamFacts {
  readonly version: string
  readonly deltas: boolean
}

/**
 * Converts the events of a run to `stream-json` lines. Keeps only the state that the format needs: the number of the current message,
 * and whether its `message.start` line was written.
 */
export function createStreamJson(facts: StreamFacts): (event: AgentEvent) => readonly StreamLine[] {
  let messages = 0
  let isStarted = false
  const messageId = (): string => `m${messages}`
  return (event) => {
    switch (event.type) {
      case "run-start":
        return [
          {
            type: "session.start",
            resumed: event.resumed,
            model: event.model,
            provider: event.provider,
            cwd: event.cwd,
            permission_profile: event.permissionProfile,
            toolsets: event.toolsets,
            tools: event.tools,
            version: facts.version,
            ...demoMark(event),
          },
        ]
      case "text-delta": {
        const start = isStarted ? [] : [{ type: "message.start", message_id: messageId() }]
        isStarted = true
        return facts.deltas ? [...start, { type: "message.delta", message_id: messageId(), text: event.text }] : start
      }
      case "reasoning-delta":
        return facts.deltas ? [{ type: "reasoning.delta", text: event.text }] : []
      case "message-end": {
        const start = isStarted ? [] : [{ type: "message.start", message_id: messageId() }]
        const lines = [
          ...start,
          {
            type: "message.complete",
            message_id: messageId(),
            role: event.message.role,
            text: event.message.text,
            finish_reason: event.message.finishReason,
          },
        ]
        messages += 1
        isStarted = false
        return lines
      }
      case "tool-start":
        return [
          {
            type: "tool.start",
            tool_call_id: event.call.id,
            parent_tool_call_id: event.call.parentId,
            name: event.call.name,
            args: event.call.args,
            preview: event.preview,
          },
        ]
      case "tool-progress":
        return [{ type: "tool.progress", tool_call_id: event.callId, text: event.text }]
      case "tool-end":
        return [
          {
            type: "tool.complete",
            tool_call_id: event.call.id,
            parent_tool_call_id: event.call.parentId,
            name: event.call.name,
            ok: event.outcome === "ok",
            duration_ms: event.durationMs,
            summary: event.summary,
            exit_code: event.exitCode,
            diff: event.diff,
            truncated: event.truncated,
          },
        ]
      case "approval-request":
        return [
          {
            type: "approval.request",
            request_id: event.requestId,
            kind: event.kind,
            command: event.command,
            description: event.description,
            rule: event.rule,
            choices: event.choices,
            reasons: event.reasons,
            pattern: event.pattern,
            pattern_scope: event.patternScope,
            cwd: event.directory,
            background: event.background,
            pty: event.pty,
            sandbox: event.sandbox,
            masked: event.masked,
            understood: event.understood,
          },
        ]
      case "clarify-request":
        return [
          { type: "clarify.request", request_id: event.requestId, question: event.question, choices: event.choices },
        ]
      case "plan-ready":
        return [{ type: "plan.ready", request_id: event.requestId, path: event.path, text: event.text }]
      case "usage":
        return [
          {
            type: "usage",
            input: event.usage.input,
            output: event.usage.output,
            cache_read: event.usage.cacheRead,
            cache_write: event.usage.cacheWrite,
            reasoning: event.usage.reasoning,
            context_tokens: event.contextTokens,
            context_length: event.contextLength,
            task: event.task,
          },
        ]
      case "status":
        // The next text belongs to another message; this one has no end.
        if ("discardsText" in event && isStarted) {
          messages += 1
          isStarted = false
        }
        return statusLines(event)
      case "session-rotated":
        return [
          {
            type: "session.rotated",
            old_session_id: event.oldSessionId,
            new_session_id: event.newSessionId,
            reason: event.reason,
          },
        ]
      case "subagent-start":
        return [
          {
            type: "subagent.start",
            subagent_id: event.subagentId,
            parent_id: event.parentId,
            depth: event.depth,
            goal: event.goal,
            role: event.role,
            model: event.model,
            child_session_id: event.childSessionId,
            task_index: event.taskIndex,
            task_count: event.taskCount,
          },
        ]
      case "subagent-end":
        return [
          {
            type: "subagent.complete",
            subagent_id: event.subagentId,
            parent_id: event.parentId,
            depth: event.depth,
            status: event.status,
            duration_ms: event.durationMs,
            summary: event.summary,
            tokens: event.tokens,
            cost_usd: event.costUsd,
          },
        ]
      case "run-end":
        return event.result.error === undefined ? [] : [{ type: "error", ...event.result.error }]
      default:
        return assertNever(event)
    }
  }
}

function statusLines(event: StatusEvent): readonly StreamLine[] {
  switch (event.kind) {
    case "retry":
      return [{ type: "status", kind: "retry", text: event.text, attempt: event.attempt, delay_ms: event.delayMs }]
    case "fallback":
    case "rotate":
    case "compress":
    case "warning":
      return [{ type: "status", kind: event.kind, text: event.text }]
    case "notice":
    case "permission-profile":
      return [{ type: "status", kind: "warning", text: event.text }]
    case "answered": {
      const { requestId, choice, by } = event
      if (event.question === "clarify") return [{ type: "clarify.resolved", request_id: requestId, answer: choice, by }]
      return [{ type: "approval.resolved", request_id: requestId, choice, by }]
    }
    case "iteration":
    case "tool-generating":
    case "subagent":
      return []
    default:
      return assertNever(event)
  }
}

/** The payload of `--output-format json` and of the last `stream-json` line. */
export function resultPayload(end: RunEnd, title: string | null): Record<string, unknown> {
  const { result } = end
  return {
    status: end.outcome === "completed" && result.partial === true ? "partial" : end.outcome.replaceAll("-", "_"),
    final_text: result.finalResponse,
    ...(result.notes === undefined ? {} : { notes: result.notes }),
    session_id: result.sessionId,
    title,
    model: result.model,
    provider: result.provider,
    api_calls: result.apiCalls,
    tool_calls: result.toolCalls,
    usage: {
      input: result.usage.input,
      output: result.usage.output,
      cache_read: result.usage.cacheRead,
      cache_write: result.usage.cacheWrite,
      reasoning: result.usage.reasoning,
    },
    cost: { usd: result.costUsd, status: result.costStatus },
    duration_ms: result.durationMs,
    files_changed: result.filesChanged,
    ...(result.planPath === undefined ? {} : { plan_path: result.planPath }),
    ...demoMark(result),
    ...(result.error === undefined ? {} : { error: result.error }),
  }
}

/** Programs must be able to tell the answer of the demo from that of a model. */
function demoMark({ provider }: { readonly provider: string }): { readonly demo?: true } {
  return provider === "demo" ? { demo: true } : {}
}
