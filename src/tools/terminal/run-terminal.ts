import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { startInBackground } from "./background.ts"
import { rewriteCompoundBackground } from "./compound-background.ts"
import { foregroundRefusal } from "./foreground-guard.ts"
import { notRun, runInForeground } from "./foreground.ts"
import { workdirRefusal } from "./workdir.ts"

const MAX_FOREGROUND_SECONDS = 600

export interface TerminalArguments {
  readonly command: string
  readonly background?: boolean | undefined
  readonly timeout?: number | undefined
  readonly workdir?: string | undefined
  readonly pty?: boolean | undefined
  readonly notify_on_complete?: boolean | undefined
  readonly watch_patterns?: readonly string[] | undefined
}

/** Runs a command in the foreground, or starts it in the background. */
export async function runTerminal(args: TerminalArguments, context: ToolContext): Promise<ToolResult> {
  const background = args.background === true
  const refused =
    (background ? undefined : refusedForeground(args, context)) ??
    (args.workdir === undefined ? undefined : await workdirRefusal(args.workdir, context.workspace.files))
  if (refused !== undefined) return notRun(refused)
  const call = {
    command: args.command,
    script: rewriteCompoundBackground(args.command),
    pty: args.pty === true,
    ...(args.workdir !== undefined && { cwd: context.workspace.files.resolve(args.workdir) }),
  }
  return background
    ? await startInBackground(
        { ...call, notify: args.notify_on_complete === true, watchPatterns: args.watch_patterns ?? [] },
        context,
      )
    : await runInForeground({ ...call, seconds: args.timeout ?? context.limits.commandTimeoutSeconds }, context)
}

function refusedForeground(
  { command, timeout = 0 }: { readonly command: string; readonly timeout?: number | undefined },
  { limits }: ToolContext,
): string | undefined {
  const max = limits.foregroundMaxSeconds ?? MAX_FOREGROUND_SECONDS
  if (timeout > max) {
    return `timeout may be at most ${max} seconds. For a longer job use background=true with notify_on_complete=true`
  }
  return foregroundRefusal(command)
}
