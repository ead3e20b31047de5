import { ellipsize } from "../../../base/text.ts"
import { isRecord, parseJson } from "../../../base/json.ts"
import { contentText } from "../../../protocol/message.ts"
import type { Message } from "../../../protocol/message.ts"
import type { DigestedCall } from "../../../toolkit/tool.ts"
import { actionsIn, userText } from "../elision-note.ts"
import { callProblem } from "../result-digest.ts"
import { isFromUser } from "../rounds.ts"
import { SUMMARY_SECTIONS } from "./summary-prompt.ts"

const MAX_CHARS = 8000
const MAX_ACTIONS = 12
const MAX_ERRORS = 5
const MAX_ERROR_CHARS = 500
const MAX_PATHS = 12
const MAX_TURNS = 8
const MAX_TURN_CHARS = 700
const MAX_REQUEST_CHARS = 1500
const MAX_PREVIOUS_CHARS = 3000

/** Writes a summary without a model, by extracting facts from the messages. Its text says that it is incomplete. */
export function fallbackSummary(
  turns: readonly Message[],
  options: {
    /** All messages: the last user message may lie outside the summarised ones. */
    readonly messages: readonly Message[]
    readonly previous: string | undefined
    readonly reason: string
    readonly digest: (call: DigestedCall) => string
    readonly redact: (text: string) => string
    readonly maxChars: number
  },
): string {
  const { previous, reason, digest } = options
  const request = options.messages.findLast((message) => isFromUser(message))
  const completed = actionsIn(turns).filter((call) => callProblem(call) === undefined)
  const actions = [...new Set(completed.map(digest))].slice(-MAX_ACTIONS)
  const content: Readonly<Record<string, string>> = {
    "Active Task": request?.role === "user" ? ellipsize(userText(request), MAX_REQUEST_CHARS) : "Unknown.",
    "Completed Actions": actions.map((line, index) => `${index + 1}. ${line}`).join("\n"),
    Blocked: errorsIn(turns)
      .map((text) => `- ${text}`)
      .join("\n"),
    "Relevant Files": pathsIn(turns)
      .map((path) => `- ${path}`)
      .join("\n"),
    "Critical Context": [
      `${turns.length} messages were removed and no model could summarise them (${reason}). This summary was extracted from them automatically ` +
        "and is incomplete: verify the state before relying on it.",
      ...(previous === undefined ? [] : [`Earlier summary:\n${ellipsize(demoted(previous), MAX_PREVIOUS_CHARS)}`]),
      "The last removed messages:",
      ...turns.slice(-MAX_TURNS).map(turnLine),
    ].join("\n"),
  }
  const text = SUMMARY_SECTIONS.map(([heading]) => `## ${heading}\n${content[heading] || "None recorded."}`).join(
    "\n\n",
  )
  return ellipsize(options.redact(text), Math.min(MAX_CHARS, options.maxChars), "\n[cut]")
}

/** Lowers the headings of the earlier summary, so that they differ from those of the new one. */
function demoted(summary: string): string {
  return summary.replaceAll(/^## /gmu, "#### ")
}

function turnLine(message: Message): string {
  const calls = message.role === "assistant" ? (message.tool_calls ?? []).map((call) => call.function.name) : []
  const text = [contentText(message.content), ...(calls.length === 0 ? [] : [`(calls ${calls.join(", ")})`])].join(" ")
  return `- ${message.role}: ${ellipsize(text.replaceAll(/\s+/gu, " ").trim(), MAX_TURN_CHARS)}`
}

const ERROR_WORDS = /error|failed|exception|traceback|timeout|timed out|fatal/iu

function errorsIn(turns: readonly Message[]): readonly string[] {
  const found = turns.flatMap((message) => {
    if (message.role !== "tool") return []
    const text = contentText(message.content)
    const index = text.search(ERROR_WORDS)
    if (index === -1 || /"error":\s*null/u.test(text.slice(index - 1, index + 20))) return []
    return [
      ellipsize(
        text
          .slice(Math.max(0, index - 80))
          .replaceAll(/\s+/gu, " ")
          .trim(),
        MAX_ERROR_CHARS,
      ),
    ]
  })
  return [...new Set(found)].slice(-MAX_ERRORS)
}

const PATH_KEYS = ["path", "workdir", "file_path", "output_path"]
const PATH_LIKE = /(?:\.{0,2}\/)?(?:[\w.@-]{1,64}\/){1,12}[\w.@-]{1,64}/gu

function pathsIn(turns: readonly Message[]): readonly string[] {
  const found = turns.flatMap((message) => {
    if (message.role !== "assistant") return []
    const named = (message.tool_calls ?? []).flatMap((call) => {
      const args = parseJson(call.function.arguments)
      if (!isRecord(args)) return []
      return PATH_KEYS.flatMap((key) => (typeof args[key] === "string" ? [args[key]] : []))
    })
    const words = contentText(message.content).slice(0, 4000).match(PATH_LIKE) ?? []
    return [...named, ...words.filter((word) => word.includes("."))]
  })
  return [...new Set(found)].slice(-MAX_PATHS)
}
