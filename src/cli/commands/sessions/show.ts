import { exportSession } from "../../../admin/sessions/export-sessions.ts"
import { readTranscript } from "../../../admin/sessions/read-sessions.ts"
import type { MessageRow, SessionRow } from "../../../state/store.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { localDateTime } from "../../../terminal/relative-time.ts"
import { noSession } from "./no-session.ts"
import { counted } from "../../../base/counted.ts"
import { plainText } from "../../../terminal/printable-text.ts"
import { bold, oneLine } from "../../../terminal/text-layout.ts"

/** `hermes sessions show ID` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const context = homeContext(invocation)
  const name = positionals.join(" ")
  if (flags.has("json")) {
    const session = await exportSession(context, name)
    if (session === undefined) throw noSession(name)
    printJson(terminal, session)
    return 0
  }
  const transcript = await readTranscript(context, name)
  if (transcript === undefined) throw noSession(name)
  for (const line of facts(transcript.session)) terminal.line(line)
  for (const message of transcript.messages) {
    terminal.line()
    terminal.styledLine(bold(messageHeading(message), terminal.color))
    for (const line of messageLines(message)) terminal.line(line)
  }
  return 0
}

function facts(session: SessionRow): readonly string[] {
  const { usage } = session
  const ended =
    session.endedAt === null ? "still open" : `${localDateTime(session.endedAt)} (${session.endReason ?? "unknown"})`
  const pairs: readonly (readonly [name: string, value: string | null])[] = [
    ["Session", session.id],
    ["Title", session.title],
    ["Source", session.source],
    ["Model", session.model],
    ["Provider", session.billingProvider],
    ["Directory", session.cwd],
    ["Started", localDateTime(session.startedAt)],
    ["Ended", ended],
    ["Parent", session.parent],
    ["Archived", session.archived ? "yes" : null],
    [
      "Messages",
      `${session.messageCount}, ${counted(session.toolCallCount, "tool call")}, ${counted(session.apiCallCount, "model call")}`,
    ],
    ["Tokens", `${usage.input} in, ${usage.output} out, ${usage.cacheRead} from cache`],
    ["Cost", session.estimatedCostUsd === null ? null : `$${session.estimatedCostUsd.toFixed(4)}`],
  ]
  return pairs.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(9)}  ${oneLine(value)}`]))
}

function messageHeading(row: MessageRow): string {
  const tool = row.message?.role === "tool" ? ` ${oneLine(row.message.tool_name)}` : ""
  return `[${localDateTime(row.timestamp)}] ${row.role}${tool}${ending(row)}`
}

/** A reply without an end must not look like a complete one. */
function ending({ message }: MessageRow): string {
  const reason = message?.role === "assistant" ? message.finish_reason : undefined
  return reason === "interrupted" || reason === "incomplete" ? ` (${reason})` : ""
}

function messageLines(row: MessageRow): readonly string[] {
  const calls = row.message?.role === "assistant" ? (row.message.tool_calls ?? []) : []
  const text = plainText(row.text).trimEnd()
  return [
    ...(text === "" ? [] : [text]),
    ...calls.map((call) => `→ ${call.function.name} ${oneLine(call.function.arguments)}`),
  ]
}
