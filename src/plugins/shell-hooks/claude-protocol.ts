import { isRecord, parseJson, stringField } from "../../base/json.ts"
import type { HookPayload } from "../hooks/hook-events.ts"
import type { ForeignCall } from "../hooks/hook-runner.ts"
import { AskFirst, MessageRefusal, NoteForModel, OtherArguments } from "./hook-answers.ts"
import type { HookRun } from "./shell-hook.ts"

/** What Claude Code writes to the standard input of a hook. */
export function claudeInput(
  claudeEvent: string,
  { payload, foreign }: { readonly payload: HookPayload; readonly foreign: ForeignCall | undefined },
  cwd: string,
): Readonly<Record<string, unknown>> {
  const text = (key: string): string => stringField(payload, key) ?? ""
  const base = {
    session_id: text("session_id"),
    // Hermes keeps conversations in a database.
    transcript_path: "",
    cwd,
    permission_mode: CLAUDE_MODES[text("permission_profile")] ?? "default",
    hook_event_name: claudeEvent,
  }
  const call = {
    tool_name: foreign?.tool ?? text("tool_name"),
    tool_input: foreign?.args ?? payload["args"] ?? {},
    tool_use_id: text("tool_call_id"),
  }
  switch (claudeEvent) {
    case "PreToolUse":
      return { ...base, ...call }
    case "PostToolUse":
      return { ...base, ...call, tool_response: parseJson(text("result")) ?? text("result") }
    case "UserPromptSubmit":
      return { ...base, prompt: text("user_message") }
    case "SessionStart":
      return { ...base, source: text("source") || "startup", model: text("model") }
    case "SessionEnd":
      return { ...base, reason: text("reason") || "other" }
    case "Stop":
      return { ...base, stop_hook_active: false, last_assistant_message: text("assistant_response") }
    case "SubagentStart":
    case "SubagentStop":
      return { ...base, stop_hook_active: false, agent_id: text("child_session_id"), agent_type: text("child_role") }
    default:
      return { ...base, message: text("description"), notification_type: "permission_prompt" }
  }
}

const CLAUDE_MODES: Readonly<Record<string, string>> = {
  plan: "plan",
  "accept-edits": "acceptEdits",
  auto: "auto",
  "full-auto": "bypassPermissions",
}

/** What a hook of Claude Code answers, in our words. `permissionDecision: "allow"` has no counterpart: a hook only restricts. */
export function claudeAnswer(claudeEvent: string, run: HookRun, foreign: ForeignCall | undefined): unknown {
  const output = parseJson(run.stdout)
  const fields = run.exitCode === 0 && isRecord(output) ? output : {}
  const specific = isRecord(fields["hookSpecificOutput"]) ? fields["hookSpecificOutput"] : {}
  const context = stringField(specific, "additionalContext")
  const refused = run.exitCode === 2 ? run.stderr.trim() || "a hook refused it" : refusalIn(fields)
  switch (claudeEvent) {
    case "PreToolUse": {
      const decision = specific["permissionDecision"]
      const reason = stringField(specific, "permissionDecisionReason") ?? ""
      if (refused !== undefined) return { action: "block", message: refused }
      if (decision === "deny") return { action: "block", message: reason || "a hook refused the call" }
      if (decision === "ask") return new AskFirst(reason || "a hook asks for your approval")
      const { updatedInput } = specific
      return isRecord(updatedInput) ? new OtherArguments(ownArguments(updatedInput, foreign)) : undefined
    }
    case "PostToolUse": {
      const note = refused ?? context
      return note === undefined ? undefined : new NoteForModel(note)
    }
    case "UserPromptSubmit":
      if (refused !== undefined) return new MessageRefusal(refused)
      return plainContext(run, output, context)
    case "SessionStart": {
      const text = plainContext(run, output, context)
      return text === undefined ? undefined : new NoteForModel(text)
    }
    default:
      return undefined
  }
}

function refusalIn(fields: Readonly<Record<string, unknown>>): string | undefined {
  if (fields["continue"] === false) return stringField(fields, "stopReason") ?? "a hook ended the work"
  return fields["decision"] === "block" ? (stringField(fields, "reason") ?? "a hook refused it") : undefined
}

/** For these events plain text on standard output is context as well. */
function plainContext(run: HookRun, output: unknown, context: string | undefined): string | undefined {
  if (context !== undefined) return context
  const text = run.stdout.trim()
  return run.exitCode === 0 && !isRecord(output) && text !== "" ? text : undefined
}

/** Renames the arguments back: `file_path` → `path`. */
function ownArguments(
  given: Readonly<Record<string, unknown>>,
  foreign: ForeignCall | undefined,
): Readonly<Record<string, unknown>> {
  const names = foreign?.renamed ?? {}
  const own = Object.fromEntries(Object.entries(names).map(([ours, theirs]) => [theirs, ours]))
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [own[name] ?? name, value]))
}
