import { appendFile } from "node:fs/promises"
import { join } from "node:path"

import { parseJson } from "../base/json.ts"
import { makeDirectories } from "../base/make-directories.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { explainSystemError } from "../base/system-error.ts"
import { scrubSurrogates } from "../base/text.ts"
import { contentText } from "../protocol/message.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage } from "../protocol/message.ts"
import type { ToolDefinition } from "../protocol/tool.ts"

/** One run as training data in the ShareGPT form, the same as the Python edition writes. */
export interface Trajectory {
  readonly conversations: readonly TrajectoryTurn[]
  /** Local time without an offset. */
  readonly timestamp: string
  readonly model: string
  readonly completed: boolean
}

export interface TrajectoryTurn {
  readonly from: "system" | "human" | "gpt" | "tool"
  /** Text, or the parts of a message with images, each image as the text part `[screenshot]`. */
  readonly value: string | readonly Part[]
}

export interface TrajectoryInput {
  /** The conversation. Its first message is the user's and is replaced by `userQuery`. */
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly userQuery: string
  readonly model: string
  readonly completed: boolean
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Leaves out the real system prompt and text that was injected for the model. */
export function toTrajectory(input: TrajectoryInput): Trajectory {
  const messages = input.messages.filter((message) => message.role !== "system")
  return {
    conversations: [
      { from: "system", value: preamble(input.tools) },
      { from: "human", value: input.userQuery },
      ...turns(messages.slice(1)),
    ],
    timestamp: localIsoTime(input.now),
    model: input.model,
    completed: input.completed,
  }
}

/** The line of a trajectory in a file, in the form of the Python edition. */
export function formatTrajectory(record: Trajectory): string {
  return scrubSurrogates(spaced(JSON.stringify(record)))
}

/** Appends one line to the file for completed or failed runs. The caller shows a failure as a warning only. */
export async function appendTrajectory(directory: string, record: Trajectory): Promise<Result<undefined>> {
  const path = join(directory, record.completed ? "trajectory_samples.jsonl" : "failed_trajectories.jsonl")
  try {
    makeDirectories(directory)
    await appendFile(path, `${formatTrajectory(record)}\n`, { mode: 0o600 })
    return ok(undefined)
  } catch (error) {
    return fail(`the trajectory could not be added to ${path}: ${explainSystemError(error)}`)
  }
}

function turns(messages: readonly Message[]): readonly TrajectoryTurn[] {
  return messages.flatMap((message, index): readonly TrajectoryTurn[] => {
    if (message.role === "user") return [{ from: "human", value: withoutImages(message.content) }]
    if (message.role !== "assistant") return []
    const calls = message.tool_calls ?? []
    if (calls.length === 0) return [{ from: "gpt", value: answerText(message) }]
    const results = resultsAfter(messages, index)
    return [
      { from: "gpt", value: callingText(message, calls) },
      ...(results.length === 0 ? [] : [{ from: "tool", value: resultsText(results, calls) } as const]),
    ]
  })
}

/** The tool messages directly after a message. */
function resultsAfter(messages: readonly Message[], index: number): readonly ToolMessage[] {
  const following = messages.slice(index + 1)
  const end = following.findIndex(({ role }) => role !== "tool")
  return following
    .slice(0, end === -1 ? following.length : end)
    .flatMap((message) => (message.role === "tool" ? [message] : []))
}

function answerText(message: AssistantMessage): string {
  return withThinking(thinking(message) + thinkTags(plainText(message.content))).trim()
}

function callingText(message: AssistantMessage, calls: readonly ToolCall[]): string {
  const text = plainText(message.content)
  const content = text.trim() === "" ? "" : `${thinkTags(text)}\n`
  return withThinking(thinking(message) + content + calls.map(callText).join("")).trimEnd()
}

function thinking({ reasoning = "" }: AssistantMessage): string {
  return reasoning.trim() === "" ? "" : `<think>\n${reasoning}\n</think>\n`
}

/** Every turn of the model has a think block, if only an empty one. */
function withThinking(text: string): string {
  return text.includes("<think>") ? text : `<think>\n</think>\n${text}`
}

function thinkTags(text: string): string {
  return text.replaceAll("<REASONING_SCRATCHPAD>", "<think>").replaceAll("</REASONING_SCRATCHPAD>", "</think>")
}

function callText({ function: { name, arguments: written } }: ToolCall): string {
  const args = parseJson(written) === undefined ? "{}" : spaced(written)
  return `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${args}}\n</tool_call>\n`
}

/** A result takes its name from the call at the same index: results of older histories have none. */
function resultsText(results: readonly ToolMessage[], calls: readonly ToolCall[]): string {
  return results
    .map(({ tool_call_id, content }, index) => {
      const name = calls[index]?.function.name ?? "unknown"
      const head = `"tool_call_id": ${JSON.stringify(tool_call_id)}, "name": ${JSON.stringify(name)}`
      return `<tool_response>\n{${head}, "content": ${resultContent(plainText(content))}}\n</tool_response>`
    })
    .join("\n")
}

/** JSON objects and arrays stay JSON; anything else becomes a JSON string. */
function resultContent(text: string): string {
  return /^\s*[{[]/u.test(text) && parseJson(text) !== undefined ? spaced(text) : JSON.stringify(text)
}

/** The text of a message; `[screenshot]` for one that holds only images. */
function plainText(content: string | readonly Part[] | null): string {
  if (content === null || typeof content === "string") return content ?? ""
  return contentText(content) || (content.length === 0 ? "" : SCREENSHOT)
}

const SCREENSHOT = "[screenshot]"

function withoutImages(content: string | readonly Part[]): string | readonly Part[] {
  if (typeof content === "string") return content
  return content.map((part) => (part.type === "text" ? part : { type: "text", text: SCREENSHOT }))
}

/**
 * Reformats JSON text with the separators of the Python edition. It does not parse the text, so that large numbers and the order
 * of keys are preserved.
 */
function spaced(json: string): string {
  return json.replaceAll(JSON_TOKEN, (token) => {
    if (token === ",") return ", "
    if (token === ":") return ": "
    if (token.startsWith('"')) return JSON.stringify(parseJson(token))
    return token.trim()
  })
}

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|[,:]|\s+|[^\s",:]+/gsu

/** Python's `isoformat` of a local time: with microseconds, unless they are zero. */
function localIsoTime(now: number): string {
  const date = new Date(now)
  const two = (value: number): string => String(value).padStart(2, "0")
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  const fraction = date.getMilliseconds() === 0 ? "" : `.${String(date.getMilliseconds()).padStart(3, "0")}000`
  return `${day}T${time}${fraction}`
}

/** The system prompt of the training data: explains how calls are written. */
function preamble(tools: readonly ToolDefinition[]): string {
  const listed = tools.map(({ name, description, parameters }) => ({ name, description, parameters, required: null }))
  return [
    "You are a model that can call functions. The signatures of the functions you may use are listed as JSON between <tools> and </tools> tags. Call one or more of them when that helps with what the user wants. Never assume values for arguments: use what you were given or ask. After your calls the results come between <tool_response> and </tool_response> tags; go on from there.",
    `<tools>\n${spaced(JSON.stringify(listed))}\n</tools>`,
    "Each call is a JSON object of this schema:",
    spaced(JSON.stringify(CALL_SCHEMA)),
    "Put every call between <tool_call> and </tool_call> tags, for example:",
    '<tool_call>\n{"name": "function-name", "arguments": {"argument-name": "value"}}\n</tool_call>',
  ].join("\n")
}

const CALL_SCHEMA = {
  title: "FunctionCall",
  type: "object",
  properties: { name: { title: "Name", type: "string" }, arguments: { title: "Arguments", type: "object" } },
  required: ["name", "arguments"],
} as const
