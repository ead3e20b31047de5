import { compactCount, compactDuration } from "../../base/compact-count.ts"
import { counted } from "../../base/counted.ts"
import type { SessionRow } from "../../state/store.ts"
import { localDateTime } from "../../terminal/relative-time.ts"

/** The head of a transcript. */
export interface TranscriptFacts {
  readonly title: string
  readonly lines: readonly (readonly [name: string, value: string])[]
}

export function transcriptFacts(session: SessionRow, redact: (text: string) => string): TranscriptFacts {
  const { usage, startedAt, endedAt } = session
  const clean = (text: string): string =>
    redact(text)
      .replaceAll(/[\s\p{Cc}]+/gu, " ")
      .trim()
  const duration = endedAt === null ? [] : [["Duration", compactDuration(Math.max(0, endedAt - startedAt))] as const]
  return {
    title: clean(session.title ?? "Conversation with Hermes"),
    lines: [
      ["Session", session.id],
      ...(session.model === null ? [] : [["Model", clean(session.model)] as const]),
      ...(session.cwd === null ? [] : [["Directory", clean(session.cwd)] as const]),
      ["Started", localDateTime(startedAt)],
      ...duration,
      [
        "Size",
        `${counted(session.messageCount, "message")}, ${counted(session.toolCallCount, "tool call")}, ${compactCount(usage.input + usage.cacheRead + usage.cacheWrite + usage.output)} tokens`,
      ],
      ...(session.estimatedCostUsd === null || session.estimatedCostUsd === 0
        ? []
        : [["Cost", `$${session.estimatedCostUsd.toFixed(4)}`] as const]),
    ],
  }
}
