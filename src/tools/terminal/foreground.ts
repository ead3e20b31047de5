import { stripAnsi } from "../../base/strip-ansi.ts"
import { BoundedOutput } from "../../exec/bounded-output.ts"
import type { CommandExit } from "../../exec/workspace.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { exitCodeMeaning } from "./exit-code-meaning.ts"
import { prepareSudo, sudoTip, withoutPassword } from "./sudo.ts"
import type { SudoCommand } from "./sudo.ts"
import { runInPty } from "./run-in-pty.ts"
import { bufferLines } from "./buffer-lines.ts"

/** Raw output includes colour codes, which are removed before it is cut. */
const RAW_OUTPUT_FACTOR = 4
/** Limits live output, because redacting a gigabyte would slow down the command. */
const LIVE_CHARS_PER_SECOND = 200_000
/** Delays between retries when the workspace is unreachable. */
const RETRY_DELAYS_MS = [2000, 4000, 8000]

export interface ForegroundCall {
  /** The command as the model wrote it. */
  readonly command: string
  readonly script: string
  readonly cwd?: string
  readonly pty: boolean
  readonly seconds: number
}

/** Runs a command until it exits. */
export async function runInForeground(call: ForegroundCall, context: ToolContext): Promise<ToolResult> {
  // In a pseudo-terminal sudo prompts itself; a password on stdin would be echoed.
  const sudo = call.pty ? { command: call.script } : await prepareSudo(call.script, context)
  let exit = await runOnce(call, sudo, context)
  for (const delay of RETRY_DELAYS_MS) {
    if (exit.unreachable !== true || context.signal.aborted) break
    await pause(delay, context)
    exit = await runOnce(call, sudo, context)
  }
  if (exit.how === "failed-to-start") return notRun(exit.error ?? "unknown reason")
  const { code: exitCode, output } = exit
  const cwd = call.cwd ?? context.workspace.cwd()
  const replaced = await context.ports.transformOutput?.({ command: call.command, output, exitCode, cwd })
  return report(call, replaced === undefined ? exit : { ...exit, output: replaced }, { sudo, context })
}

export function notRun(reason: string): ToolResult {
  const error = `the command was not run: ${reason}`
  return { content: { output: "", exit_code: -1, error }, summary: error, exitCode: -1 }
}

async function runOnce(call: ForegroundCall, sudo: SudoCommand, context: ToolContext): Promise<CommandExit> {
  const keepChars = RAW_OUTPUT_FACTOR * context.limits.outputMaxChars
  const cwdOption = call.cwd === undefined ? {} : { cwd: call.cwd }
  const options = { ...cwdOption, timeoutMs: call.seconds * 1000, signal: context.signal, keepChars }
  const running = call.pty
    ? runInPty(sudo.command, options, context)
    : context.workspace.run(sudo.command, {
        ...options,
        keepState: true,
        ...(sudo.stdin !== undefined && { stdin: sudo.stdin }),
      })
  await showLive(running.output, sudo, context)
  return await running.exit
}

/** Shows complete lines, because half a secret or escape sequence would not be recognised. */
async function showLive(output: AsyncIterable<string>, sudo: SudoCommand, context: ToolContext): Promise<void> {
  let second = 0
  let shown = 0
  for await (const text of bufferLines(output)) {
    const now = Math.floor(context.clock.now() / 1000)
    if (now !== second) shown = 0
    second = now
    shown += text.length
    if (shown <= LIVE_CHARS_PER_SECOND) context.progress(context.redact(withoutPassword(stripAnsi(text), sudo)))
  }
}

async function pause(ms: number, { clock, signal }: ToolContext): Promise<void> {
  try {
    await clock.sleep(ms, { signal })
  } catch {
    // Interrupted: the next attempt reports it.
  }
}

function report(
  call: ForegroundCall,
  exit: CommandExit,
  { sudo, context }: { readonly sudo: SudoCommand; readonly context: ToolContext },
): ToolResult {
  const note =
    exit.how === "timed-out"
      ? `[Command timed out after ${call.seconds}s]`
      : exit.how === "interrupted"
        ? "[Command interrupted]"
        : ""
  const output = withoutPassword(stripAnsi(exit.output), sudo)
  const shown = context.redact(shorten(output, exit, context.limits.outputMaxChars)).replace(/\n+$/, "")
  const tip = sudoTip(output, sudo, context) ?? ""
  const meaning = exit.how === "exited" ? exitCodeMeaning(call.command, exit.code) : undefined
  return {
    content: {
      output: [shown, note, tip].filter((part) => part !== "").join("\n"),
      exit_code: exit.code,
      error: exit.error ?? null,
      ...(meaning !== undefined && { exit_code_meaning: meaning }),
      ...(exit.cwdNote !== undefined && { cwd_note: exit.cwdNote }),
      ...(exit.workspaceNote !== undefined && { workspace_note: exit.workspaceNote }),
    },
    summary: note === "" ? `exit code ${exit.code}` : note,
    exitCode: exit.code,
    ...(exit.code !== 0 && shown !== "" && { outputTail: lastLines(shown) }),
  }
}

const TAIL_LINES = 10
const TAIL_CHARS = 2000

function lastLines(output: string): string {
  return output.split("\n").slice(-TAIL_LINES).join("\n").slice(-TAIL_CHARS)
}

/** Cuts again without colours. The notice of the first cut is not output of the command, so it is removed. */
function shorten(output: string, { omittedChars }: CommandExit, maxChars: number): string {
  if (output.length <= maxChars) return output
  const firstCut = new RegExp(String.raw`\n\n\[\.\.\. ${omittedChars} of \d+ characters left out \.\.\.\]\n\n`)
  const kept = new BoundedOutput(maxChars)
  kept.push(omittedChars === 0 ? output : output.replace(firstCut, ""))
  kept.skip(omittedChars)
  return kept.toString()
}
