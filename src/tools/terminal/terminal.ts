import { z } from "zod"

import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { stripAnsi } from "../../base/strip-ansi.ts"
import { ellipsize } from "../../base/text.ts"
import { BoundedOutput } from "../../exec/bounded-output.ts"
import type { CommandExit } from "../../exec/workspace.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { looksDestructive } from "../../toolkit/destructive-command.ts"
import { digestLines, digestValue } from "../../toolkit/digest-line.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { exitCodeMeaning } from "./exit-code-meaning.ts"
import { wholeLines } from "./whole-lines.ts"
import { refusedWorkdir } from "./workdir.ts"

const MAX_FOREGROUND_SECONDS = 600
/** Colours take room too, and are removed before the output is cut. */
const RAW_OUTPUT_FACTOR = 4

export const terminal = defineTool({
  name: "terminal",
  toolset: "terminal",
  description:
    "Run a shell command and return its output and exit code. The call returns when the command ends, so give a generous timeout " +
    "for slow ones. Each command starts in the working directory, without a terminal: no interactive prompts. Do not use it to " +
    "read, search or write files; the file tools do that better.",
  input: z.object({
    command: z.string().min(1).describe("The command line, run by bash"),
    timeout: z
      .int()
      .min(1)
      .max(MAX_FOREGROUND_SECONDS)
      .optional()
      .describe("Seconds before it is stopped (default 180)"),
    workdir: z.string().min(1).optional().describe("Directory to run it in"),
  }),
  access: "exec",
  subject: ({ command }) => ({ kind: "command", command }),
  preview: ({ command }) => (looksDestructive(command) ? `${command}  [changes files]` : command),
  emoji: "💻",
  inScripts: true,
  provenance: "command",
  digest: ({ args, result }) => {
    const answer = parseJson(result)
    const code = isRecord(answer) && typeof answer["exit_code"] === "number" ? answer["exit_code"] : "?"
    const lines = digestLines(stringField(answer, "output") ?? result)
    return `[terminal] ran \`${ellipsize(digestValue(args["command"]), 80)}\` -> exit ${code}, ${lines} lines output`
  },
  run: async ({ command, timeout, workdir }, context) => {
    const refused = workdir === undefined ? undefined : await refusedWorkdir(workdir, context.workspace.files)
    if (refused !== undefined) return notStarted(refused)
    const seconds = timeout ?? context.limits.commandTimeoutSeconds
    const running = context.workspace.run(command, {
      timeoutMs: seconds * 1000,
      signal: context.signal,
      keepChars: RAW_OUTPUT_FACTOR * context.limits.outputMaxChars,
      ...(workdir === undefined ? {} : { cwd: context.workspace.files.resolve(workdir) }),
    })
    // Whole lines, because half a secret or half an escape sequence would not be recognised.
    for await (const text of wholeLines(running.output)) context.progress(context.redact(stripAnsi(text)))
    const exit = await running.exit
    if (exit.how === "failed-to-start") return notStarted(exit.error ?? "unknown reason")
    return report(command, exit, { seconds, context })
  },
})

function notStarted(reason: string): ToolResult {
  const error = `the command could not be started: ${reason}`
  return { content: { output: "", exit_code: -1, error }, summary: error, exitCode: -1 }
}

function report(
  command: string,
  exit: CommandExit,
  { seconds, context }: { readonly seconds: number; readonly context: ToolContext },
): ToolResult {
  const note =
    exit.how === "timed-out"
      ? `[Command timed out after ${seconds}s]`
      : exit.how === "interrupted"
        ? "[Command interrupted]"
        : ""
  const shown = context.redact(shorten(stripAnsi(exit.output), exit, context)).replace(/\n+$/, "")
  const meaning = exit.how === "exited" ? exitCodeMeaning(command, exit.code) : undefined
  return {
    content: {
      output: [shown, note].filter((part) => part !== "").join("\n"),
      exit_code: exit.code,
      error: null,
      ...(meaning === undefined ? {} : { exit_code_meaning: meaning }),
    },
    summary: note === "" ? `exit code ${exit.code}` : note,
    exitCode: exit.code,
  }
}

function shorten(output: string, exit: CommandExit, context: ToolContext): string {
  if (output.length <= context.limits.outputMaxChars) return output
  const kept = new BoundedOutput(context.limits.outputMaxChars)
  kept.push(output)
  kept.skip(exit.omittedChars)
  return kept.toString()
}
