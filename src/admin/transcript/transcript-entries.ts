import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { takeCodePoints } from "../../base/text.ts"
import { stripAnsi } from "../../base/strip-ansi.ts"
import { contentText } from "../../protocol/message.ts"
import type { ToolCall } from "../../protocol/message.ts"
import type { MessageRow } from "../../state/store.ts"
import { TOOL_MANIFEST } from "../../tools/manifest.generated.ts"
import { readableResult } from "../sessions/readable-result.ts"

/** What a reader of a transcript sees of a conversation, in order. Secrets are redacted. */
export type TranscriptEntry =
  | { readonly kind: "user" | "answer" | "notice"; readonly text: string; readonly at: number }
  | ({ readonly kind: "call"; readonly at: number } & TranscriptCall)

export interface TranscriptCall {
  readonly name: string
  readonly emoji: string
  /** What the call did, in one line: the command, the path or the query. */
  readonly title: string
  /** The arguments as JSON. */
  readonly args: string
  readonly result: string
  readonly diff: string
  readonly failed: boolean
}

/** System prompts and empty messages are left out; the result of a call stands with its call. */
export function transcriptEntries(
  rows: readonly MessageRow[],
  redact: (text: string) => string,
): readonly TranscriptEntry[] {
  const results = new Map(
    rows.flatMap(({ message }) => (message?.role === "tool" ? [[message.tool_call_id, message] as const] : [])),
  )
  const clean = (text: string): string => printable(redact(text))
  return rows.flatMap(({ message, timestamp: at }): readonly TranscriptEntry[] => {
    switch (message?.role) {
      case "user": {
        const text = clean(contentText(message.content)).trim()
        const kind = message.synthetic === undefined ? "user" : "notice"
        return text === "" ? [] : [{ kind, text, at }]
      }
      case "assistant": {
        const text = clean(contentText(message.content)).trim()
        const answer: readonly TranscriptEntry[] = text === "" ? [] : [{ kind: "answer", text, at }]
        const calls = (message.tool_calls ?? []).map((call): TranscriptEntry => {
          const result = results.get(call.id)
          return {
            kind: "call",
            at,
            ...callEntry(call, result === undefined ? "" : contentText(result.content), clean),
          }
        })
        return [...answer, ...calls]
      }
      case "system":
      case "tool":
      case undefined:
        return []
      default:
        return message satisfies never
    }
  })
}

const MAX_RESULT_CHARS = 20_000
const MAX_TITLE_CHARS = 100
const DEFAULT_EMOJI = "⚡"

function callEntry(call: ToolCall, result: string, clean: (text: string) => string): TranscriptCall {
  const { name, arguments: args } = call.function
  const answer = parseJson(result)
  const diff = stringField(answer, "diff") ?? ""
  const rest = isRecord(answer) && diff !== "" ? JSON.stringify({ ...answer, diff: undefined }) : result
  const known = Object.hasOwn(TOOL_MANIFEST, name) ? TOOL_MANIFEST[name]?.marks.label : undefined
  const exitCode = isRecord(answer) ? answer["exit_code"] : undefined
  return {
    name: clean(name),
    emoji: known?.emoji ?? DEFAULT_EMOJI,
    title: clean(titleOf(args)),
    args: clean(bounded(prettyJson(args))),
    result: clean(bounded(readableResult(rest))),
    diff: clean(bounded(diff)),
    failed:
      (isRecord(answer) && answer["error"] !== undefined && answer["error"] !== null) ||
      (typeof exitCode === "number" && exitCode !== 0),
  }
}

/** The first argument that is a text tells most calls apart. */
function titleOf(args: string): string {
  const parsed = parseJson(args)
  const first = isRecord(parsed) ? Object.values(parsed).find((value) => typeof value === "string") : undefined
  return typeof first === "string" ? takeCodePoints(first.replaceAll(/\s+/gu, " ").trim(), MAX_TITLE_CHARS) : ""
}

function prettyJson(text: string): string {
  const parsed = parseJson(text)
  return parsed === undefined ? text : JSON.stringify(parsed, undefined, 2)
}

function bounded(text: string): string {
  if (text.length <= MAX_RESULT_CHARS) return text
  return `${takeCodePoints(text, MAX_RESULT_CHARS)}\n… ${text.length - MAX_RESULT_CHARS} more characters`
}

/** Without sequences and control characters, which a viewer of the file could interpret. */
function printable(text: string): string {
  return stripAnsi(text)
    .replaceAll("\r\n", "\n")
    .replaceAll(/(?![\n\t])[\p{Cc}\u{202A}-\u{202E}\u{2066}-\u{2069}]/gu, "")
}
