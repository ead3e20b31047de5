import type { App } from "../../app/app.ts"
import type { Session } from "../../app/session/session.ts"
import { counted } from "../../base/counted.ts"
import type { MessageRow } from "../../state/store.ts"
import { relativeTime } from "../../terminal/relative-time.ts"
import type { ChoiceList } from "../choice-list.ts"

/** A message of the user in this conversation. */
export interface EarlierMessage {
  readonly text: string
  /** How many user messages going back to it removes: 1 for the last one. */
  readonly turns: number
}

/** The user's messages that can be undone, newest first. Choosing one goes back to before it. */
export function messageList({
  app,
  session,
}: {
  readonly app: Pick<App, "store" | "clock">
  readonly session: Pick<Session, "id">
}): ChoiceList<EarlierMessage> {
  return {
    title: "Go back to before a message",
    hint: "Enter removes it and what follows, and returns its text to the editor; files stay as they are",
    emptyText: "There is no message to go back to.",
    load: async () => {
      const rows = await (await app.store()).messages(session.id)
      const now = app.clock.now() / 1000
      const choices = undoableMessages(rows).map(({ text, timestamp }, index) => ({
        value: { text, turns: index + 1 },
        label: text,
        details: [relativeTime(timestamp, now), index === 0 ? "the last" : `${counted(index + 1, "message")} back`],
      }))
      return { choices }
    },
    preview: ({ value }) => Promise.resolve({ kind: "text", text: value.text }),
  }
}

/** Newest first, up to the last compression: its summary stands for what was before. */
function undoableMessages(rows: readonly MessageRow[]): readonly MessageRow[] {
  const active = rows.filter(({ active: isActive }) => isActive)
  const start = active.findLastIndex(({ message }) => message !== undefined && isFromCompression(message))
  return active
    .slice(start + 1)
    .filter(isFromUser)
    .toReversed()
}

function isFromUser({ message }: MessageRow): boolean {
  return message?.role === "user" && message.synthetic === undefined
}

function isFromCompression(message: NonNullable<MessageRow["message"]>): boolean {
  return (
    message.role !== "system" &&
    (message.compressed_summary === true || message.synthetic === "elision" || message.synthetic === "summary")
  )
}
