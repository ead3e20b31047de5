import { isRecord } from "../../base/json.ts"
import { nearest } from "../../base/nearest-name.ts"
import { HOOK_EVENTS, isHookEvent } from "../hooks/hook-events.ts"
import type { HookEvent } from "../hooks/hook-events.ts"
import { DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS } from "./shell-hook.ts"
import type { FoundShellHooks, ShellHook } from "./shell-hook.ts"

/** The hooks of `hooks` in config.yaml. What cannot be used is skipped with a warning. */
export function readHookSettings(settings: Readonly<Record<string, unknown>>): FoundShellHooks {
  const warnings: string[] = []
  const hooks = Object.entries(settings).flatMap(([event, entries]): readonly ShellHook[] => {
    if (!isHookEvent(event)) {
      const suggestion = nearest(event, Object.keys(HOOK_EVENTS), 4)
      const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`
      warnings.push(`hooks.${event} is skipped, because there is no such event${hint}`)
      return []
    }
    const list: readonly unknown[] = Array.isArray(entries) ? entries : [entries]
    return list.flatMap((entry, index) => readEntry(entry, { event, path: `hooks.${event}[${index}]`, warnings }))
  })
  return { hooks, warnings }
}

function readEntry(
  entry: unknown,
  { event, path, warnings }: { readonly event: HookEvent; readonly path: string; readonly warnings: string[] },
): readonly ShellHook[] {
  const fields = typeof entry === "string" ? { command: entry } : entry
  if (!isRecord(fields) || typeof fields["command"] !== "string" || fields["command"].trim() === "") {
    warnings.push(`${path} is skipped, because it has no command`)
    return []
  }
  const { matcher, timeout = DEFAULT_TIMEOUT_SECONDS, fail_closed: failClosed } = fields
  if (typeof matcher === "string" && !HOOK_EVENTS[event].ofTool)
    warnings.push(`${path}.matcher has no effect, because ${event} does not belong to a tool`)
  if (typeof matcher === "string" && !isExpression(matcher))
    warnings.push(`${path}.matcher is not a regular expression; it is compared as a name`)
  const seconds = typeof timeout === "number" && timeout > 0 ? timeout : DEFAULT_TIMEOUT_SECONDS
  if (seconds > MAX_TIMEOUT_SECONDS) warnings.push(`${path}.timeout is reduced to ${MAX_TIMEOUT_SECONDS} seconds`)
  return [
    {
      event,
      command: fields["command"].trim(),
      timeoutSeconds: Math.min(seconds, MAX_TIMEOUT_SECONDS),
      failClosed: failClosed === true && event === "pre_tool_call",
      ...(typeof matcher === "string" && HOOK_EVENTS[event].ofTool ? { matcher } : {}),
    },
  ]
}

function isExpression(text: string): boolean {
  try {
    return new RegExp(text, "u").source !== ""
  } catch {
    return false
  }
}
