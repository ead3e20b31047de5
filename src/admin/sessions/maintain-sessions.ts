import { existsSync } from "node:fs"
import type { SessionId } from "../../protocol/identifiers.ts"
import { checkHealth, repairStore, type Health, type RepairOutcome } from "../../state/sqlite/repair.ts"
import type { StoreStats } from "../../state/store.ts"
import type { HomeContext } from "../home-context.ts"
import { withSessionStore, type SessionStoreContext } from "./session-store.ts"

/** Deletes ended sessions; with `dryRun` only returns which. Returns undefined when the home has no database. */
export function pruneSessions(
  context: SessionStoreContext,
  options: { readonly olderThanDays: number; readonly source: string | undefined; readonly dryRun: boolean },
): Promise<readonly SessionId[] | undefined> {
  const { olderThanDays, source, dryRun } = options
  return withSessionStore(context, (store) =>
    store.prune({ olderThanDays, dryRun, ...(source !== undefined && { source }) }),
  )
}

/** Returns undefined when the home has no database. */
export function sessionStats(context: SessionStoreContext): Promise<StoreStats | undefined> {
  return withSessionStore(context, (store) => store.stats())
}

/** Compacts the database and returns its size before and after; undefined when the home has none. */
export function optimizeSessions(
  context: SessionStoreContext,
): Promise<{ readonly beforeMb: number; readonly afterMb: number } | undefined> {
  return withSessionStore(context, async (store) => {
    const { sizeMb: beforeMb } = await store.stats()
    await store.optimize()
    const { sizeMb: afterMb } = await store.stats()
    return { beforeMb, afterMb }
  })
}

/** Returns undefined when the home has no database. */
export function checkSessionDatabase({ home }: Pick<HomeContext, "home">): Health | undefined {
  const path = home.file("state.db")
  return existsSync(path) ? checkHealth(path) : undefined
}

/** Repairs a damaged database; without `backup` keeps the damaged file only if something was lost. Undefined when the home has none. */
export async function repairSessionDatabase(
  { home, clock, log }: Pick<HomeContext, "home" | "clock" | "log">,
  options: { readonly backup: boolean },
): Promise<RepairOutcome | undefined> {
  const path = home.file("state.db")
  return existsSync(path) ? await repairStore(path, { ...options, clock, log }) : undefined
}
