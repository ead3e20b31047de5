import { deleteSessionAndPastes } from "../../app/services/delete-session.ts"
import { findOtherProcess } from "../../app/session/open-session-marker.ts"
import type { Clock } from "../../base/clock.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { newSessionId, sessionIdKindOf } from "../../state/session-id.ts"
import { StoreError, type SessionRow, type SessionStore, type TitleOutcome } from "../../state/store.ts"
import { findExactSession, findSession, withSessionStore, type SessionStoreContext } from "./session-store.ts"

export type RenameOutcome =
  | { readonly kind: "renamed"; readonly id: SessionId; readonly title: string | null }
  | Exclude<TitleOutcome, { kind: "set" }>

/** Sets the title of a session; an empty title removes it. */
export async function renameSession(context: SessionStoreContext, name: string, title: string): Promise<RenameOutcome> {
  const outcome = await withSessionStore<RenameOutcome>(context, async (store) => {
    const session = await findExactSession(store, name)
    if (session === undefined) return { kind: "no-session" }
    const set = await store.setTitle(session.id, title)
    return set.kind === "set" ? { kind: "renamed", id: session.id, title: set.title } : set
  })
  return outcome ?? { kind: "no-session" }
}

/** Archives a session, or lists it again. Returns its id, or undefined when there is no such session. */
export function setSessionArchived(
  context: SessionStoreContext,
  name: string,
  archived: boolean,
): Promise<SessionId | undefined> {
  return withSessionStore(context, async (store) => {
    const session = await findExactSession(store, name)
    if (session !== undefined) await store.setArchived(session.id, archived)
    return session?.id
  })
}

export type DeleteOutcome =
  | { readonly kind: "deleted" }
  | { readonly kind: "no-session" }
  /** Deleting it would leave that process without a conversation. */
  | { readonly kind: "open"; readonly pid: number }

/** Deletes a session permanently; with `force` also one that another process has open. */
export async function deleteSession(
  context: SessionStoreContext,
  id: SessionId,
  { force }: { readonly force: boolean },
): Promise<DeleteOutcome> {
  const pid = force ? undefined : findOtherProcess(context.home, id)
  if (pid !== undefined) return { kind: "open", pid }
  const deleted = await withSessionStore(context, (store) => deleteSessionAndPastes(store, id, context.home))
  return { kind: deleted === true ? "deleted" : "no-session" }
}

export interface BranchedSession {
  readonly id: SessionId
  readonly parent: SessionId
  readonly title: string
}

export type BranchFailure =
  | { readonly kind: "no-session" }
  | { readonly kind: "no-message"; readonly parent: SessionId; readonly message: string }

export interface BranchOptions {
  readonly title: string | undefined
  /** Row id of the last message to copy; all messages when undefined. */
  readonly upTo: number | undefined
}

/** Copies a session into a new one: all messages, or those up to `upTo`. */
export async function branchSession(
  context: SessionStoreContext,
  name: string,
  options: BranchOptions,
): Promise<Result<BranchedSession, BranchFailure>> {
  const branched = await withSessionStore<Result<BranchedSession, BranchFailure>>(context, async (store) => {
    const parent = await findSession(store, name)
    return parent === undefined
      ? fail({ kind: "no-session" })
      : await branchStoredSession(store, parent, { ...options, clock: context.clock })
  })
  return branched ?? fail({ kind: "no-session" })
}

/** The same in a store that is already open. */
export async function branchStoredSession(
  store: SessionStore,
  parent: SessionRow,
  { clock, title, upTo }: BranchOptions & { readonly clock: Clock },
): Promise<Result<BranchedSession, Extract<BranchFailure, { kind: "no-message" }>>> {
  const child = {
    id: newSessionId(clock, sessionIdKindOf(parent.id)),
    source: parent.source,
    startedAt: clock.now() / 1000,
    // The same prompt keeps the provider's prompt cache valid for the copied messages.
    ...(parent.systemPrompt === null ? {} : { systemPrompt: parent.systemPrompt }),
  }
  try {
    const given = await store.branch(parent.id, child, {
      ...(title === undefined ? {} : { title }),
      ...(upTo === undefined ? {} : { upTo }),
    })
    return ok({ id: child.id, parent: parent.id, title: given })
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== "failed") throw error
    return fail({ kind: "no-message", parent: parent.id, message: error.message })
  }
}
