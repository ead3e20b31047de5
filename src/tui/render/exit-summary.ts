import { compactDuration } from "../../base/compact-count.ts"
import { counted } from "../../base/counted.ts"
import { resumeCommand } from "../conversation/resume-command.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import type { Row } from "../drawing.ts"
import type { RowOptions } from "./row-options.ts"
import { rowOf, span, wrapSpans } from "./spans.ts"

export interface ExitFacts {
  readonly sessionId: string
  readonly title: string | null
  /** The profile of the home. */
  readonly profile: string
  readonly seconds: number
  readonly messages: { readonly user: number; readonly total: number; readonly toolCalls: number }
}

/** What stays on the screen after Hermes: how to resume, and what the session was. */
export function exitSummaryRows(facts: ExitFacts, { theme, columns }: RowOptions): readonly Row[] {
  const { sessionId, title, profile, seconds, messages } = facts
  const lines: readonly (readonly [label: string, value: string])[] = [
    ["Resume", oneLine(resumeCommand(sessionId, profile))],
    ["Session", sessionId],
    ...(title === null ? [] : [["Title", oneLine(title)] as const]),
    ["Duration", compactDuration(seconds)],
    ["Messages", `${messages.total} (${messages.user} from you, ${counted(messages.toolCalls, "tool call")})`],
  ]
  return lines.flatMap(([label, value]) => {
    const paint = label === "Resume" ? (text: string): string => theme.style("bold", text) : undefined
    const rows = wrapSpans([span(value, paint)], columns - LABEL_COLUMNS).map(rowOf)
    return rows.map((row, index) =>
      index === 0
        ? theme.paint("session_label", `${label}:`.padEnd(LABEL_COLUMNS)) + row
        : " ".repeat(LABEL_COLUMNS) + row,
    )
  })
}

const LABEL_COLUMNS = 11
