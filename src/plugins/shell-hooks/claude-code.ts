import { join } from "node:path"

import { isRecord, parseJson } from "../../base/json.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { errorMessage, isNotFound } from "../../base/system-error.ts"
import type { HookEvent } from "../hooks/hook-events.ts"
import { DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS } from "./shell-hook.ts"
import type { FoundShellHooks, ShellHook } from "./shell-hook.ts"

/** Events of Claude Code that have a counterpart here. */
export const CLAUDE_EVENTS: Readonly<Record<string, HookEvent>> = {
  PreToolUse: "pre_tool_call",
  PostToolUse: "post_tool_call",
  UserPromptSubmit: "pre_llm_call",
  Stop: "on_session_end",
  SessionStart: "on_session_start",
  SessionEnd: "on_session_finalize",
  SubagentStart: "subagent_start",
  SubagentStop: "subagent_stop",
  Notification: "pre_approval_request",
}

const MAX_SETTINGS_BYTES = 1_000_000

/** The hooks of Claude Code's settings: of the user, of the project, and of the user for this project. */
export function readClaudeHooks({
  userHome,
  cwd,
}: {
  readonly userHome: string
  readonly cwd: string
}): FoundShellHooks {
  const files = [
    { file: join(userHome, ".claude", "settings.json") },
    { file: join(cwd, ".claude", "settings.json"), fromProject: true as const },
    { file: join(cwd, ".claude", "settings.local.json"), fromProject: true as const },
  ]
  const read = files.map((source) => readFile(source))
  return { hooks: read.flatMap(({ hooks }) => hooks), warnings: read.flatMap(({ warnings }) => warnings) }
}

function readFile(source: Pick<ShellHook, "fromProject"> & { readonly file: string }): FoundShellHooks {
  const { file } = source
  let settings: unknown
  try {
    settings = parseJson(readRegularFile(file, { maxBytes: MAX_SETTINGS_BYTES }).bytes.toString("utf8"))
  } catch (error) {
    return { hooks: [], warnings: isNotFound(error) ? [] : [`${file} could not be read: ${errorMessage(error)}`] }
  }
  if (!isRecord(settings))
    return { hooks: [], warnings: [`the hooks of ${file} are skipped, because it is not valid JSON`] }
  const { hooks: events, disableAllHooks } = settings
  if (!isRecord(events) || disableAllHooks === true) return { hooks: [], warnings: [] }
  const warnings: string[] = []
  const hooks = Object.entries(events).flatMap(([claudeEvent, groups]): readonly ShellHook[] => {
    const event = Object.hasOwn(CLAUDE_EVENTS, claudeEvent) ? CLAUDE_EVENTS[claudeEvent] : undefined
    if (event === undefined) {
      warnings.push(`the ${claudeEvent} hooks of ${file} are skipped, because Hermes has no such event`)
      return []
    }
    return (Array.isArray(groups) ? groups : []).flatMap((group: unknown) =>
      readGroup(group, { ...source, event, claudeEvent }, warnings),
    )
  })
  return { hooks, warnings }
}

function readGroup(
  group: unknown,
  source: Pick<ShellHook, "event" | "fromProject"> & { readonly claudeEvent: string; readonly file: string },
  warnings: string[],
): readonly ShellHook[] {
  if (!isRecord(group) || !Array.isArray(group["hooks"])) return []
  const { matcher } = group
  return group["hooks"].flatMap((hook: unknown): readonly ShellHook[] => {
    if (!isRecord(hook)) return []
    const { type = "command", command, timeout } = hook
    if (type !== "command" || typeof command !== "string") {
      warnings.push(`a ${source.claudeEvent} hook of ${source.file} is skipped, because its type is not command`)
      return []
    }
    const seconds = typeof timeout === "number" && timeout > 0 ? timeout : DEFAULT_TIMEOUT_SECONDS
    return [
      {
        ...source,
        command,
        timeoutSeconds: Math.min(seconds, MAX_TIMEOUT_SECONDS),
        failClosed: false,
        ...(typeof matcher === "string" && matcher !== "" && matcher !== "*" ? { matcher } : {}),
      },
    ]
  })
}
