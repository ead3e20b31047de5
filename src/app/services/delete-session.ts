import { existsSync } from "node:fs"

import type { Home } from "../../config/home.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SessionStore } from "../../state/store.ts"
import { removePastes } from "../input/expand-pastes.ts"

/** Deletes a session, and the pasted texts that its messages name. False when there is no such session. */
export async function deleteSessionAndPastes(store: SessionStore, id: SessionId, home: Home): Promise<boolean> {
  const messages = existsSync(home.file("pastes")) ? await store.messages(id, { includeInactive: true }) : []
  const isDeleted = await store.deleteSession(id)
  if (isDeleted) for (const { role, text } of messages) if (role === "user") removePastes(text, home)
  return isDeleted
}
