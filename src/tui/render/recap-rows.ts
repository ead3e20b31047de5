import { counted } from "../../base/counted.ts"
import { ellipsize } from "../../base/text.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import type { Row } from "../drawing.ts"
import { closeOpenMarks } from "./close-open-marks.ts"
import { markdownRows } from "./markdown-stream.ts"
import type { RowOptions } from "./row-options.ts"
import { clipSpans, rowOf, span, wrapSpans } from "./spans.ts"
import type { Paint } from "./spans.ts"

export interface RecapOptions extends RowOptions {
  /** Default 10. */
  readonly exchanges?: number
}

const EXCHANGES = 10
const MAX_USER_CHARS = 300
const MAX_ANSWER_CHARS = 200
const MAX_ANSWER_LINES = 3

/** The end of a conversation that is resumed: what the user said and how it was answered. */
export function recapRows(messages: readonly Message[], options: RecapOptions): readonly Row[] {
  const { theme, columns } = options
  const visible = messages.filter(isVisible)
  const starts = visible.flatMap((message, index) => (message.role === "user" ? [index] : []))
  const count = options.exchanges ?? EXCHANGES
  const first = count === 0 ? visible.length : (starts.at(-count) ?? 0)
  const shown = visible.slice(first)
  const dim: Paint = (text) => theme.style("dim", text)
  const symbol = oneLine(theme.branding.promptSymbol)
  return [
    ...(first === 0 ? [] : [rowOf(clipSpans([span(`… ${counted(first, "earlier message")} …`, dim)], columns))]),
    ...replies(shown).flatMap((entry): readonly Row[] => {
      const isUser = entry.kind === "user"
      const mark = isUser ? theme.paint("session_label", symbol) : theme.paint("session_border", "⚕")
      const calls = entry.calls === 0 ? [] : [dim(`[${counted(entry.calls, "tool call")}]`)]
      const unanswered = isUser && !entry.isAnswered ? [dim("[no answer]")] : []
      const text = isUser
        ? wrapSpans([span(entry.text)], columns - 2).map(rowOf)
        : markdownRows(entry.text, { theme, columns: columns - 2 }).filter((row) => row.trim() !== "")
      const [head = "", ...rest] = [...text, ...calls, ...unanswered]
      return [`${mark} ${head}`.trimEnd(), ...rest.map((row) => `  ${row}`)]
    }),
  ]
}

function isVisible(message: Message): boolean {
  if (message.role === "user") return message.synthetic === undefined
  return message.role === "assistant"
}

interface RecapEntry {
  readonly kind: "user" | "answer"
  readonly text: string
  readonly calls: number
  /** Of a user message: the model has said or done something before the next one. */
  readonly isAnswered: boolean
}

/** The messages as shown: the answers between two user messages become one entry, with the number of their tool calls. */
function replies(messages: readonly Message[]): readonly RecapEntry[] {
  const entries: RecapEntry[] = []
  let text = ""
  let calls = 0
  const endAnswer = (): void => {
    if (text !== "" || calls > 0) {
      const last = entries.pop()
      if (last !== undefined) entries.push({ ...last, isAnswered: true })
      entries.push({ kind: "answer", text, calls, isAnswered: true })
    }
    text = ""
    calls = 0
  }
  for (const message of messages) {
    if (message.role === "user") {
      endAnswer()
      const said = ellipsize(flat(contentText(message.content)), MAX_USER_CHARS, "…")
      entries.push({ kind: "user", text: said, calls: 0, isAnswered: false })
    } else if (message.role === "assistant") {
      calls += message.tool_calls?.length ?? 0
      // The last text is the answer; texts before it announced tool calls.
      text = firstLines(contentText(message.content)) || text
    }
  }
  endAnswer()
  return entries
}

function flat(text: string): string {
  return oneLine(text.slice(0, 4 * MAX_USER_CHARS))
}

/** Markdown with the first lines. Blank lines stay, because they separate blocks. */
function firstLines(text: string): string {
  const lines = plainText(text.slice(0, 20 * MAX_ANSWER_CHARS))
    .trim()
    .split("\n")
    .map((line) => line.replaceAll("\t", "    ").trimEnd())
  const written = lines.flatMap((line, index) => (line === "" ? [] : [index]))
  const end = written[MAX_ANSWER_LINES]
  const shown = lines.slice(0, end).join("\n").trimEnd()
  const isCut = end !== undefined || shown.length > MAX_ANSWER_CHARS
  if (!isCut) return shown
  const cut = shown.slice(0, MAX_ANSWER_CHARS - 1).toWellFormed()
  const lastLine = cut.lastIndexOf("\n") + 1
  return `${cut.slice(0, lastLine)}${closeOpenMarks(cut.slice(lastLine))}…`
}
