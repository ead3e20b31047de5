import { existsSync } from "node:fs"
import type { SessionId } from "../../protocol/identifiers.ts"
import { checkHealth, type Health } from "../../state/sqlite/health.ts"
import { repairStore, type RepairOutcome } from "../../state/sqlite/repair.ts"
import type { CompactOutcome, StoreStats } from "../../state/store.ts"
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

export interface OptimizeReport {
  readonly beforeMb: number
  readonly afterMb: number
  readonly compacted: CompactOutcome
}

/** Merges the search index and compacts the database; undefined when the home has none. */
export function optimizeSessions(context: SessionStoreContext): Promise<OptimizeReport | undefined> {
  return withSessionStore(context, async (store) => {
    const { sizeMb: beforeMb } = await store.stats()
    const compacted = await store.optimize(context)
    const { sizeMb: afterMb } = await store.stats()
    return { beforeMb, afterMb, compacted }
  })
}

/** Returns undefined when the home has no database. */
export async function checkSessionDatabase({
  home,
  progress,
}: Pick<HomeContext, "home" | "progress">): Promise<Health | undefined> {
  const path = home.file("state.db")
  if (!existsSync(path)) return undefined
  return await checkHealth(path, { scope: "full", ...(progress !== undefined && { progress }) })
}

/** Repairs a damaged database; without `backup` keeps the damaged file only if something was lost. Undefined when the home has none. */
export async function repairSessionDatabase(
  { home, clock, log, progress }: Pick<HomeContext, "home" | "clock" | "log" | "progress">,
  options: { readonly backup: boolean },
): Promise<RepairOutcome | undefined> {
  const path = home.file("state.db")
  if (!existsSync(path)) return undefined
  return await repairStore(path, { ...options, clock, log, ...(progress !== undefined && { progress }) })
}
