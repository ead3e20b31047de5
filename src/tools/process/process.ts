import { z } from "zod"

import { assertNever } from "../../base/assert-never.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestValue } from "../../toolkit/digest-line.ts"
import type { ProcessesPort } from "../../toolkit/ports/processes.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { listed, logged, polled, waited } from "./process-report.ts"
import { counted } from "../../base/counted.ts"

const ACTIONS = ["list", "poll", "log", "wait", "kill", "write", "submit", "close"] as const

type Action = (typeof ACTIONS)[number]

export const processTool = defineTool({
  name: "process",
  toolset: "terminal",
  description:
    "Background processes started by terminal. list: all; poll: status and recent output; log: output by lines; wait: until it ends " +
    "(use this, not sleep loops); kill; write: raw text to its input; submit: text and Enter; close: end of input.",
  input: z.object({
    action: z.enum(ACTIONS),
    session_id: z.string().optional().describe("For all but list"),
    data: z.string().optional().describe("For write and submit"),
    timeout: z.int().min(1).optional().describe("Seconds, for wait"),
    offset: z.int().min(0).optional().describe("First line, for log (default: the end)"),
    limit: z.int().min(1).optional().describe("Lines, for log (default 200)"),
  }),
  declarationRank: 6,
  access: ({ action }) => (READING.has(action) ? "read" : "exec"),
  subject: ({ action, session_id, data }) =>
    (action === "write" || action === "submit") && data !== undefined
      ? { kind: "command", command: data }
      : { kind: "name", name: session_id ?? action },
  label: { emoji: "📡", verb: "process" },
  preview: ({ action, session_id }) => (session_id === undefined ? action : `${action} ${session_id}`),
  digest: ({ args }) => `[process] ${digestValue(args["action"])} session=${digestValue(args["session_id"])}`,
  provenance: "command",
  role: "shell-input",
  run: async (args, context) => {
    const processes = await context.ports.processes?.()
    if (processes === undefined) return failure("background processes are not available here")
    if (args.action === "list") return listResult(processes, context)
    const { session_id: id } = args
    if (id === undefined) return failure(`session_id is required for ${args.action}; process list shows them`)
    if (processes.peek(id) === undefined) return notFound(id)
    return await act({ ...args, action: args.action, id }, processes, context)
  },
})

const READING: ReadonlySet<Action> = new Set(["list", "poll", "log", "wait"])

interface Call {
  readonly action: Exclude<Action, "list">
  readonly id: string
  readonly data?: string | undefined
  readonly timeout?: number | undefined
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

async function act(call: Call, processes: ProcessesPort, context: ToolContext): Promise<ToolResult> {
  const { action, id } = call
  switch (action) {
    case "poll":
      return shown(id, processes, (view) => polled(view, context.redact))
    case "log":
      return shown(id, processes, (view) => logged(view, call, context.redact))
    case "wait":
      return await wait(call, processes, context)
    case "kill":
      return await kill(id, processes)
    case "write":
    case "submit":
      return write(call, processes)
    case "close":
      return processes.closeInput(id)
        ? { content: { status: "ok", session_id: id }, summary: "input closed" }
        : inputClosed(id)
    default:
      return assertNever(action)
  }
}

function listResult(processes: ProcessesPort, context: ToolContext): ToolResult {
  const all = processes.list(context.taskId).map((view) => listed(view, context.redact))
  return { content: { processes: all }, summary: `${all.length} ${all.length === 1 ? "process" : "processes"}` }
}

function shown(
  id: string,
  processes: ProcessesPort,
  content: (view: NonNullable<ReturnType<ProcessesPort["acknowledge"]>>) => Readonly<Record<string, unknown>>,
): ToolResult {
  const view = processes.acknowledge(id)
  return view === undefined ? notFound(id) : { content: content(view), summary: view.state.status }
}

async function wait({ id, timeout }: Call, processes: ProcessesPort, context: ToolContext): Promise<ToolResult> {
  const most = context.limits.commandTimeoutSeconds
  const seconds = Math.min(timeout ?? most, most)
  const status = await processes.wait(id, { timeoutMs: seconds * 1000, signal: context.signal })
  const note =
    timeout !== undefined && timeout > most
      ? `waited ${most} s, the limit for one call; it is still running`
      : undefined
  const result = shown(id, processes, (view) => waited(view, { status, redact: context.redact }))
  return note === undefined || status !== "timeout"
    ? { ...result, summary: status }
    : { ...result, summary: status, content: { ...result.content, timeout_note: note } }
}

async function kill(id: string, processes: ProcessesPort): Promise<ToolResult> {
  const status = await processes.kill(id, "process kill")
  if (status === "not_found") return notFound(id)
  const state = processes.acknowledge(id)?.state
  const exit = state?.status === "exited" ? { exit_code: state.exitCode ?? null, completion_reason: state.reason } : {}
  return { content: { status, session_id: id, ...exit }, summary: status.replace("_", " ") }
}

/** Enter is a carriage return on a terminal and a newline on a pipe. */
function write({ action, id, data }: Call, processes: ProcessesPort): ToolResult {
  if (data === undefined && action === "write") return failure("data is required for write")
  const enter = action === "write" ? "" : processes.peek(id)?.isPty === true ? "\r" : "\n"
  const text = (data ?? "") + enter
  if (!processes.write(id, text)) return inputClosed(id)
  return {
    content: { status: "ok", session_id: id, bytes_written: Buffer.byteLength(text) },
    summary: `${counted(text.length, "character")} written`,
  }
}

function inputClosed(id: string): ToolResult {
  return failure("its input is closed or not reachable; nothing can be written", { session_id: id })
}

function notFound(id: string): ToolResult {
  return failure(`there is no background process ${id}; process list shows them`, { status: "not_found" })
}
