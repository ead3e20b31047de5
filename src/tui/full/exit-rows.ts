import type { App } from "../../app/app.ts"
import { storedSession } from "../../app/services/conversation-usage.ts"
import type { Session } from "../../app/session/session.ts"
import type { Row } from "../drawing.ts"
import { exitSummaryRows } from "../render/exit-summary.ts"
import type { RowOptions } from "../render/row-options.ts"

/** What stays on the screen after a conversation; nothing if it has no messages. */
export async function exitRows({
  app,
  session,
  openedAt,
  ...view
}: RowOptions & {
  readonly app: App
  readonly session: Session
  /** Milliseconds since the epoch. */
  readonly openedAt: number
}): Promise<readonly Row[]> {
  const row = session.isStored ? await storedSession(app, session) : undefined
  if (row === undefined) return []
  const messages = await (await app.store()).conversation(session.id)
  const facts = {
    sessionId: session.id,
    title: row.title,
    profile: app.home.profile,
    seconds: (app.clock.now() - openedAt) / 1000,
    messages: {
      user: messages.filter(({ role }) => role === "user").length,
      total: messages.length,
      toolCalls: row.toolCallCount,
    },
  }
  return ["", ...exitSummaryRows(facts, view)]
}
