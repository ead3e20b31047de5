import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { RestoreOutcome } from "../../exec/checkpoints/shadow-store.ts"
import type { SessionParts } from "./session-parts.ts"
import { undoFrom } from "./undo.ts"
import type { UndoReport } from "./undo.ts"

export interface RollbackRequest {
  /** Hash of the snapshot, or its beginning. */
  readonly hash: string
  /** Restores only this path, and leaves the conversation alone. */
  readonly file?: string
  readonly signal: AbortSignal
}

export interface RollbackReport extends RestoreOutcome {
  readonly conversation: ConversationChange
  /** For the model, with the next message: files changed that the conversation does not account for. */
  readonly note?: string
}

export type ConversationChange =
  | UndoReport
  /** Nothing was restored, or only a single file. */
  | { readonly kind: "unaffected" }
  /** The snapshot undoes a restore; the messages that the restore removed do not come back. */
  | { readonly kind: "restore-undone" }
  /** An older Hermes took the snapshot, without recording the message. */
  | { readonly kind: "unrecorded" }

/**
 * Restores files, and removes the turn that began with them in this state and everything after it from the conversation. So files and
 * conversation agree afterwards; where they cannot, the model gets a note.
 */
export async function rollBack(request: RollbackRequest, parts: SessionParts): Promise<Result<RollbackReport>> {
  const checkpoints = await parts.abilities.checkpoints?.()
  if (checkpoints === undefined) return fail("there are no snapshots here, because the files are not on this machine")
  const { hash, ...options } = request
  const restored = await checkpoints.restore(hash, options)
  if (!restored.ok) return restored
  const { written, removed } = restored.value
  const changed = [...written, ...removed]
  const conversation: ConversationChange =
    changed.length === 0 || request.file !== undefined
      ? { kind: "unaffected" }
      : await changeConversation(restored.value, parts)
  const isUnexplained = changed.length > 0 && conversation.kind !== "removed"
  return ok({ ...restored.value, conversation, ...(isUnexplained ? { note: restoreNote(changed) } : {}) })
}

async function changeConversation({ snapshot }: RestoreOutcome, parts: SessionParts): Promise<ConversationChange> {
  if (snapshot.precedes.length > 0) return await undoFrom(snapshot.precedes, parts)
  return { kind: snapshot.turn === undefined ? "restore-undone" : "unrecorded" }
}

const MAX_NOTED_PATHS = 20

function restoreNote(changed: readonly string[]): string {
  const rest = changed.length > MAX_NOTED_PATHS ? ` and ${changed.length - MAX_NOTED_PATHS} more` : ""
  const paths = changed.slice(0, MAX_NOTED_PATHS).map((path) => path.replaceAll(/\p{Cc}/gu, "?"))
  return `[The user has just restored an earlier state of these files, so what you know about them may be wrong; read them again: ${paths.join(", ")}${rest}.]`
}
