import { isRecord, parseJson } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { quoteForShell } from "../../base/quote-for-shell.ts"
import { ellipsize } from "../../base/text.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import { commandEnvironment } from "../../exec/command-environment.ts"
import { lastLine, runProgram } from "../../exec/run-program.ts"
import type { HookPayload } from "../hooks/hook-events.ts"
import type { ForeignCall, HookListener } from "../hooks/hook-runner.ts"
import { claudeAnswer, claudeInput } from "./claude-protocol.ts"
import type { HookRun, ShellHook } from "./shell-hook.ts"
import { splitCommand } from "./split-command.ts"

export interface ShellHookHost {
  readonly home: Home
  readonly environment: Environment
  readonly cwd: () => string
  readonly log: Logger
}

const MAX_OUTPUT_CHARS = 200_000
const GRACE_MS = 2000

/** A hook as a listener: its answer has the form that a plugin would return. */
export function shellHookListener(hook: ShellHook, host: ShellHookHost): HookListener {
  return {
    owner: `hook ${ellipsize(hook.command, 80)}`,
    event: hook.event,
    // The command's own timeout comes first.
    limitMs: hook.timeoutSeconds * 1000 + GRACE_MS,
    ...(hook.matcher === undefined ? {} : { matches: toolMatcher(hook, hook.matcher) }),
    call: async (payload, signal, foreign) => {
      const run = await runShellHook(hook, { payload, foreign, signal }, host)
      if (hook.claudeEvent !== undefined) {
        if (run.failure !== undefined && run.exitCode !== 2) host.log.warning(`hook ${hook.command}: ${run.failure}`)
        return claudeAnswer(hook.claudeEvent, run, foreign)
      }
      const failure =
        run.failure ??
        (run.stdout.trim() !== "" && !isRecord(parseJson(run.stdout)) ? "its output is not a JSON object" : undefined)
      if (failure === undefined) return answerOf(hook, parseJson(run.stdout))
      host.log.warning(`hook ${hook.command}: ${failure}`)
      return hook.failClosed
        ? { action: "block", message: `the hook ${ellipsize(hook.command, 80)} failed: ${explained(failure, run)}` }
        : undefined
    },
  }
}

function explained(failure: string, { reason }: HookRun): string {
  return reason === undefined ? failure : `${failure}: ${reason}`
}

/** A check that must not be skipped, and that the user has not approved: it denies the calls that it would check. */
export function unapprovedListener(hook: ShellHook): HookListener {
  const command = ellipsize(hook.command, 80)
  return {
    owner: `hook ${command}`,
    event: hook.event,
    ...(hook.matcher === undefined ? {} : { matches: toolMatcher(hook, hook.matcher) }),
    call: () => ({
      action: "block",
      message: `the hook ${command} must check this call (fail_closed), and the user has not approved the hook; the user can approve it with: hermes hooks approve ${quoteForShell(hook.command)}`,
    }),
  }
}

/** Runs the command once. Never rejects. */
export async function runShellHook(
  hook: ShellHook,
  call: { readonly payload: HookPayload; readonly foreign: ForeignCall | undefined; readonly signal: AbortSignal },
  { home, environment, cwd }: ShellHookHost,
): Promise<HookRun> {
  const words =
    hook.claudeEvent === undefined ? splitCommand(hook.command, home.userHome) : ["/bin/sh", "-c", hook.command]
  if (words === undefined || words.length === 0)
    return { failure: "the command has an open quote", exitCode: -1, stdout: "", stderr: "" }
  const directory = cwd()
  const input =
    hook.claudeEvent === undefined
      ? hermesInput(hook, call.payload, directory)
      : claudeInput(hook.claudeEvent, call, directory)
  const sessionId = call.payload["session_id"]
  const ended = await runProgram(words, {
    environment: commandEnvironment(environment.toObject(), {
      passthrough: [],
      set: {
        HERMES_HOME: home.path,
        ...(typeof sessionId === "string" ? { HERMES_SESSION_ID: sessionId } : {}),
        ...(hook.claudeEvent === undefined ? {} : { CLAUDE_PROJECT_DIR: directory }),
      },
    }),
    cwd: directory,
    stdin: `${JSON.stringify(input, textual)}\n`,
    signal: call.signal,
    timeoutMs: hook.timeoutSeconds * 1000,
  })
  const output = {
    exitCode: ended.code,
    stdout: ended.stdout.toString("utf8").slice(0, MAX_OUTPUT_CHARS),
    stderr: ended.stderr,
  }
  if (ended.notStarted !== undefined) return { ...output, failure: `it could not be started: ${ended.notStarted}` }
  if (ended.ended === "timed-out") return { ...output, failure: `it took longer than ${hook.timeoutSeconds} s` }
  if (ended.ended === "interrupted") return { ...output, failure: "it was interrupted" }
  if (ended.code === 0) return output
  const reason = lastLine(ended.stderr)
  return { ...output, failure: `it exited with ${ended.code}`, ...(reason === "" ? {} : { reason }) }
}

/** Claude Code compares plain names exactly; an expression of the settings may match anywhere in the name. */
function toolMatcher(hook: ShellHook, matcher: string): NonNullable<HookListener["matches"]> {
  const anchored = hook.claudeEvent === undefined ? matcher : `^(?:${matcher})$`
  let expression: RegExp | undefined
  try {
    expression = new RegExp(anchored, "u")
  } catch {
    // Compared as a name.
    expression = undefined
  }
  const fits = (name: string): boolean => (expression === undefined ? name === matcher : expression.test(name))
  return (tool, foreign) =>
    fits(tool) || (hook.claudeEvent !== undefined && foreign !== undefined && fits(foreign.tool))
}

function hermesInput(hook: ShellHook, payload: HookPayload, cwd: string): Readonly<Record<string, unknown>> {
  const { tool_name: tool = null, args = null, session_id: session = "", ...extra } = payload
  return { hook_event_name: hook.event, tool_name: tool, tool_input: args, session_id: session, cwd, extra }
}

/** Values that JSON cannot represent become text. */
function textual(_key: string, value: unknown): unknown {
  return typeof value === "bigint" || typeof value === "function" || typeof value === "symbol" ? String(value) : value
}

function answerOf({ event }: ShellHook, output: unknown): unknown {
  if (!isRecord(output)) return undefined
  if (event === "pre_tool_call") {
    if (output["decision"] === "block") return { action: "block", message: textOr(output["reason"]) }
    return output["action"] === "block" ? { action: "block", message: textOr(output["message"]) } : undefined
  }
  if (event === "pre_llm_call")
    return typeof output["context"] === "string" ? { context: output["context"] } : undefined
  return typeof output["output"] === "string" ? output["output"] : undefined
}

function textOr(value: unknown): string {
  return typeof value === "string" && value.trim() !== "" ? value : "a hook refused the call"
}
