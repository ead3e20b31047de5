import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import type { Workspace } from "../exec/workspace.ts"
import type { ImageDescriber } from "../llm/vision/image-describer.ts"
import type { ModelClient } from "../llm/model.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import { newSessionId } from "../state/session-id.ts"
import { openModelFor } from "./session-model.ts"
import type { OpenSessionOptions, Shared } from "./session-options.ts"
import { loadPast, storeOrReason } from "./session-past.ts"
import type { Past } from "./session-past.ts"
import { closeWorkspace, openWorkspace } from "./session-workspace.ts"

/** What a session stands on, and what others may lack because it has it. */
export interface SessionGround {
  readonly id: SessionId
  readonly model: ModelClient
  readonly store: Awaited<ReturnType<typeof storeOrReason>>
  /** Absent for a new conversation. */
  readonly past: Past | undefined
  readonly workspace: Workspace
  /** Gives the place to work back, and the place among the sessions; the model is closed by whoever uses it last. */
  readonly release: () => Promise<void>
}

/** All of it or, with the reason, nothing. */
export async function openGround(
  options: OpenSessionOptions,
  images: ImageDescriber,
  shared: Shared,
): Promise<Result<SessionGround>> {
  const opened = await openModelFor(options.model, shared, { images })
  if (!opened.ok) return opened
  const model = opened.value
  const store = await storeOrReason(shared)
  const past = options.resume === undefined ? ok(undefined) : await loadPast(options.resume, store, shared.home)
  if (!past.ok) {
    model.close()
    return past
  }
  const id = options.resume ?? newSessionId(shared.clock, "terminal")
  const lease = await takePlace(id, options, shared)
  if (!lease.ok) {
    model.close()
    return lease
  }
  const place = await openWorkspace(
    {
      cwd: options.cwd,
      sessionId: id,
      signal: AbortSignal.timeout(OPENING_MS),
      ...(options.walls === undefined ? {} : { walls: options.walls }),
    },
    shared,
  )
  if (!place.ok) {
    await lease.value.release()
    model.close()
    return place
  }
  const workspace = place.value
  shared.workspaces.add(workspace)
  return ok({
    id,
    model,
    store,
    past: past.value,
    workspace,
    release: async () => {
      await closeWorkspace(workspace, shared.log)
      shared.workspaces.delete(workspace)
      await lease.value.release()
    },
  })
}

/** A container may have to be fetched first. */
const OPENING_MS = 600_000

/** One of the places that `max_concurrent_sessions` allows; without that setting there is always one. */
async function takePlace(
  id: SessionId,
  options: OpenSessionOptions,
  { config, home, clock, log }: Shared,
): Promise<Result<{ release(): Promise<void> }>> {
  const limit = config.get("max_concurrent_sessions")
  if (limit === null) return ok({ release: () => Promise.resolve() })
  const { takeLease } = await import("../state/leases.ts")
  const lease = await takeLease({ home: home.path, limit, id, surface: options.source, clock, log })
  if (lease.kind === "granted") return ok(lease)
  const holders = lease.holders.map((holder) => `${holder.id} (${holder.surface}, process ${holder.pid})`).join(", ")
  return fail(
    `${lease.limit} sessions are open and max_concurrent_sessions allows no more: ${holders}. Close one first.`,
  )
}
