import { RESULT_DIRECTORY } from "../../exec/result-files.ts"
import type { Message } from "../../protocol/message.ts"

/** Whether a conversation has moved results to files. */
export function hasSpilled(history: readonly Message[]): boolean {
  return history.some(
    ({ role, content }) => role === "tool" && typeof content === "string" && content.includes(`/${RESULT_DIRECTORY}/`),
  )
}
