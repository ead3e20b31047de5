import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { notRun } from "./foreground.ts"
import { prepareSudo } from "./sudo.ts"
import type { SudoCommand } from "./sudo.ts"

export interface BackgroundCall {
  /** As the model wrote it. */
  readonly command: string
  readonly script: string
  readonly cwd?: string
  readonly pty: boolean
  readonly notify: boolean
  readonly watchPatterns: readonly string[]
}

/** Starts a command that goes on beside the conversation. */
export async function startInBackground(call: BackgroundCall, context: ToolContext): Promise<ToolResult> {
  const processes = await context.ports.processes?.()
  if (processes === undefined) return notRun("background processes are not available here; run it without background")
  // In a terminal sudo asks for itself; a password typed there would be shown.
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

const WATCH_IGNORED = "watch_patterns are not used together with notify_on_complete"
const NO_PTY = "there is no terminal on this machine; the process runs with pipes"
const HINT = "You will not be told when it ends: look with process poll or wait, or set notify_on_complete next time."
