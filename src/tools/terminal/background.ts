import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { notRun } from "./foreground.ts"
import { prepareSudo } from "./sudo.ts"
import type { SudoCommand } from "./sudo.ts"

export interface BackgroundCall {
  /** The command as the model wrote it. */
  readonly command: string
  readonly script: string
  readonly cwd?: string
  readonly pty: boolean
  readonly notify: boolean
  readonly watchPatterns: readonly string[]
}

/** Starts a background command. */
export async function startInBackground(call: BackgroundCall, context: ToolContext): Promise<ToolResult> {
  const processes = await context.ports.processes?.()
  if (processes === undefined) return notRun("background processes are not available here; run it without background")
  // In a pseudo-terminal sudo prompts itself; a password on stdin would be echoed.
  const sudo: SudoCommand = call.pty ? { command: call.script } : await prepareSudo(call.script, context)
  const watchPatterns = call.notify ? [] : call.watchPatterns
  const started = await processes.start({
    workspace: context.workspace,
    command: call.command,
    script: sudo.command,
    pty: call.pty,
    owner: context.taskId,
    notifyOnComplete: call.notify,
    watchPatterns,
    ...(call.cwd !== undefined && { cwd: call.cwd }),
    ...(sudo.stdin !== undefined && { stdin: sudo.stdin }),
    ...(sudo.password !== undefined && { secret: sudo.password }),
  })
  if (!started.ok) return notRun(started.error)
  const { id, pid, isPty } = started.value
  return {
    content: {
      output: "Background process started",
      session_id: id,
      pid,
      exit_code: 0,
      error: null,
      ...(call.notify && { notify_on_complete: true }),
      ...(watchPatterns.length > 0 && { watch_patterns: watchPatterns }),
      ...(call.notify && call.watchPatterns.length > 0 && { watch_patterns_ignored: WATCH_IGNORED }),
      ...(call.pty && !isPty && { pty_note: NO_PTY }),
      ...(!call.notify && watchPatterns.length === 0 && { hint: HINT }),
    },
    summary: `started ${id}`,
  }
}

const WATCH_IGNORED = "watch_patterns cannot be combined with notify_on_complete and were ignored"
const NO_PTY = "no pseudo-terminal is available; the process runs with pipes"
const HINT = "You will not be notified when it ends: use process poll or wait, or set notify_on_complete next time."
