import { assertNever } from "../../base/assert-never.ts"
import { stripAnsi } from "../../base/strip-ansi.ts"
import type { ScriptSettings, ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import type { Language } from "./languages.ts"
import { createScriptCalls } from "./script-calls.ts"
import type { ScriptEnd } from "./script-end.ts"
import type { ScriptRun } from "./script-run.ts"

export interface ScriptArguments {
  readonly code: string
  readonly language?: Language | undefined
  readonly timeout?: number | undefined
}

const DEFAULT_SETTINGS: ScriptSettings = {
  mode: "project",
  location: "host",
  timeoutSeconds: 300,
  maxToolCalls: 50,
  maxStdoutBytes: 50_000,
  maxStderrBytes: 10_000,
  memoryMb: 512,
}

/** Runs a script in a process of its own and returns what it printed. */
export async function runScript(args: ScriptArguments, context: ToolContext): Promise<ToolResult> {
  const { callTool } = context.ports
  if (callTool === undefined) return failure("scripts are not available in this session")
  const settings = context.limits.scripts ?? DEFAULT_SETTINGS
  const calls = createScriptCalls(callTool, {
    maxCalls: settings.maxToolCalls,
    onCall: (made) => {
      context.progress(`execute_code (${made} ${made === 1 ? "call" : "calls"})\n`)
    },
  })
  const run: ScriptRun = {
    code: args.code,
    language: args.language ?? "javascript",
    seconds: Math.min(args.timeout ?? settings.timeoutSeconds, settings.timeoutSeconds),
    settings,
    calls,
    port: callTool,
  }
  const started = context.clock.now()
  const isInBackend = settings.location === "backend" && context.workspace.kind !== "local"
  const end = isInBackend
    ? await (await import("./backend/run-in-backend.ts")).runInBackend(run, context)
    : await (await import("./run-on-host.ts")).runOnHost(run, context)
  return report(end, { run, context, seconds: (context.clock.now() - started) / 1000 })
}

function report(
  end: ScriptEnd,
  { run, context, seconds }: { readonly run: ScriptRun; readonly context: ToolContext; readonly seconds: number },
): ToolResult {
  const clean = (text: string): string => context.redact(stripAnsi(text)).trimEnd()
  const stdout = clean(end.stdout)
  const stderr = clean(end.stderr)
  const problem = problemOf(end, { run, stderr })
  const notes = [
    stdout,
    ...(stderr === "" ? [] : [`--- stderr ---\n${stderr}`]),
    ...(end.how === "timeout" ? [`[The script was stopped after ${run.seconds} s.]`] : []),
  ]
  const made = run.calls.made
  const calls = `${made} tool ${made === 1 ? "call" : "calls"}`
  return {
    content: {
      status: problem === undefined ? "success" : end.how === "exited" ? "error" : end.how,
      output: notes.filter((note) => note !== "").join("\n"),
      ...(problem === undefined ? {} : { error: problem }),
      tool_calls_made: made,
      duration_seconds: Math.round(seconds * 100) / 100,
    },
    summary: problem === undefined ? `ran with ${calls}` : `${firstLine(problem)} (${calls})`,
    ...(end.how === "exited" && end.code !== null ? { exitCode: end.code } : {}),
    ...(problem === undefined || stderr === "" ? {} : { outputTail: stderr.slice(-MAX_TAIL_CHARS) }),
  }
}

const MAX_TAIL_CHARS = 2000

function problemOf(
  end: ScriptEnd,
  { run, stderr }: { readonly run: ScriptRun; readonly stderr: string },
): string | undefined {
  switch (end.how) {
    case "timeout":
      return `The script was stopped after ${run.seconds} s. Make it do less, or give it more time with \`timeout\`.`
    case "interrupted":
      return "The user interrupted the script."
    case "error":
      return end.error
    case "exited":
      if (end.code === 0) return undefined
      if (end.signal !== undefined) return [`The script was ended by ${end.signal}.`, stderr].join("\n").trimEnd()
      return stderr === "" ? `The script ended with exit code ${end.code}.` : stderr
    default:
      return assertNever(end)
  }
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? ""
}
