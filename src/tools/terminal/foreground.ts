import { stripAnsi } from "../../base/strip-ansi.ts"
import { BoundedOutput } from "../../exec/bounded-output.ts"
import type { CommandExit } from "../../exec/workspace.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { exitCodeMeaning } from "./exit-code-meaning.ts"
import { prepareSudo, sudoTip, withoutPassword } from "./sudo.ts"
import type { SudoCommand } from "./sudo.ts"
import { runInTerminal } from "./terminal-run.ts"
import { wholeLines } from "./whole-lines.ts"

/** Colours take room too, and are removed before the output is cut. */
const RAW_OUTPUT_FACTOR = 4
/** Nobody reads faster, and looking for secrets in a gigabyte would hold the command up. */
const LIVE_CHARS_PER_SECOND = 200_000
/** How long to wait before each further try when the place where commands run is out of reach. */
const RETRY_DELAYS_MS = [2000, 4000, 8000]

export interface ForegroundCall {
  /** As the model wrote it. */
  readonly command: string
  readonly script: string
  readonly cwd?: string
  readonly pty: boolean
  readonly seconds: number
}

/** Runs a command of the conversation to its end. */
export async function runInForeground(call: ForegroundCall, context: ToolContext): Promise<ToolResult> {
  // In a terminal sudo asks for itself; a password typed there would be shown.
  const sudo = call.pty ? { command: call.script } : await prepareSudo(call.script, context)
  let exit = await runOnce(call, sudo, context)
  for (const delay of RETRY_DELAYS_MS) {
    if (exit.unreachable !== true || context.signal.aborted) break
    await pause(delay, context)
    exit = await runOnce(call, sudo, context)
  }
  if (exit.how === "failed-to-start") return notRun(exit.error ?? "unknown reason")
  return report(call, exit, { sudo, context })
}

export function notRun(reason: string): ToolResult {
  const error = `the command was not run: ${reason}`
  return { content: { output: "", exit_code: -1, error }, summary: error, exitCode: -1 }
}

async function runOnce(call: ForegroundCall, sudo: SudoCommand, context: ToolContext): Promise<CommandExit> {
  const keepChars = RAW_OUTPUT_FACTOR * context.limits.outputMaxChars
  const place = call.cwd === undefined ? {} : { cwd: call.cwd }
  const options = { ...place, timeoutMs: call.seconds * 1000, signal: context.signal, keepChars }
  const running = call.pty
    ? runInTerminal(sudo.command, options, context)
    : context.workspace.run(sudo.command, {
        ...options,
        keepState: true,
        ...(sudo.stdin !== undefined && { stdin: sudo.stdin }),
      })
  await showLive(running.output, sudo, context)
  return await running.exit
}

/** Whole lines, because half a secret or half an escape sequence would not be recognised. */
async function showLive(output: AsyncIterable<string>, sudo: SudoCommand, context: ToolContext): Promise<void> {
  let second = 0
  let shown = 0
  for await (const text of wholeLines(output)) {
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
    // Interrupted: the next try gives that answer.
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
      ...(exit.placeNote !== undefined && { place_note: exit.placeNote }),
    },
    summary: note === "" ? `exit code ${exit.code}` : note,
    exitCode: exit.code,
  }
}

/** Much output was cut before, with its colours; the notice of that first cut is none of the command's own characters. */
function shorten(output: string, { omittedChars }: CommandExit, maxChars: number): string {
  if (output.length <= maxChars) return output
  const firstCut = new RegExp(String.raw`\n\n\[\.\.\. ${omittedChars} of \d+ characters left out \.\.\.\]\n\n`)
  const kept = new BoundedOutput(maxChars)
  kept.push(omittedChars === 0 ? output : output.replace(firstCut, ""))
  kept.skip(omittedChars)
  return kept.toString()
}
