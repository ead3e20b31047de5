import type { MessageRow, SessionRow } from "../../../state/store.ts"
import type { Invocation } from "../../command.ts"
import { printJson } from "../../json-output.ts"
import { localDateTime } from "../../relative-time.ts"
import { namedSession, noSession, withSessions } from "../../session-store.ts"
import { bold, counted, oneLine, safeText } from "../../text-layout.ts"

/** `hermes sessions show ID` */
export async function run({ flags, positionals, terminal, home }: Invocation): Promise<number> {
  return withSessions(home, {
    absent: () => {
      throw noSession(positionals)
    },
    work: async (store) => {
      const session = await namedSession(store, positionals)
      if (flags.has("json")) printJson(terminal, await store.exportSession(session.id))
      else {
        for (const line of facts(session)) terminal.line(line)
        for (const message of await store.messages(session.id)) {
          terminal.line()
          terminal.line(bold(messageHeading(message), terminal.color))
          for (const line of messageLines(message)) terminal.line(line)
        }
      }
      return 0
    },
  })
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
  const tool = row.message?.role === "tool" ? ` ${row.message.tool_name}` : ""
  return `[${localDateTime(row.timestamp)}] ${row.role}${tool}`
}

function messageLines(row: MessageRow): readonly string[] {
  const calls = row.message?.role === "assistant" ? (row.message.tool_calls ?? []) : []
  const text = safeText(row.text).trimEnd()
  return [
    ...(text === "" ? [] : [text]),
    ...calls.map((call) => `→ ${call.function.name} ${oneLine(call.function.arguments)}`),
  ]
}
