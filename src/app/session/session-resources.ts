import { sessionIdKind, sourceOf } from "../../agent/origin.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Workspace } from "../../exec/workspace.ts"
import type { ModelClient } from "../../llm/model.ts"
import type { ImageDescriber } from "../../llm/vision/image-describer.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { newSessionId } from "../../state/session-id.ts"
import { openModelClient } from "../services/model-client.ts"
import type { Services } from "../services/services.ts"
import { createPresence } from "./open-session-marker.ts"
import type { Presence } from "./open-session-marker.ts"
import { loadResumedSession, storeOrReason } from "./resume.ts"
import type { ResumedSession } from "./resume.ts"
import type { OpenSessionOptions } from "./session-options.ts"
import { closeWorkspace, openWorkspace } from "./session-workspace.ts"

/** What a session holds and must release: a model client, a workspace, and one of the allowed concurrent sessions. */
export interface SessionResources {
  readonly id: SessionId
  /** Closed by the session, which may switch models. */
  readonly model: ModelClient
  readonly store: Awaited<ReturnType<typeof storeOrReason>>
  /** Absent for a new conversation. */
  readonly resumed: ResumedSession | undefined
  readonly workspace: Workspace
  readonly presence: Presence
  /** Closes the workspace, frees the concurrent session and ends the presence. */
  readonly release: () => Promise<void>
}

/** Acquires all resources or, with the reason, none. */
export async function openResources(
  options: OpenSessionOptions,
  images: ImageDescriber,
  services: Services,
): Promise<Result<SessionResources>> {
  const opened = await openModelClient(options.model, services, { images })
  if (!opened.ok) return opened
  const model = opened.value
  const store = await storeOrReason(services)
  const resumed = await resume(options, store, services)
  if (!resumed.ok) {
    model.close()
    return resumed
  }
  const id = options.resume ?? newSessionId(services.clock, sessionIdKind(options.origin))
  // A sub-agent belongs to a session that has a slot.
  const lease = options.child === undefined ? await takeSessionSlot(id, options, services) : ok(NO_LEASE)
  if (!lease.ok) {
    model.close()
    return lease
  }
  const workspace = await openWorkspace(
    {
      cwd: options.cwd,
      sessionId: id,
      lineage: (await lineageOf(options.child?.rootTaskId ?? options.resume, store, services)) ?? id,
      isBorrowed: options.child !== undefined,
      signal: AbortSignal.timeout(OPEN_WORKSPACE_MS),
      ...(options.sandboxPaths === undefined ? {} : { sandboxPaths: options.sandboxPaths }),
    },
    services,
  )
  if (!workspace.ok) {
    await lease.value.release()
    model.close()
    return workspace
  }
  services.workspaces.add(workspace.value)
  const presence = createPresence(services.home, id)
  if (options.resume !== undefined) presence.show()
  return ok({
    id,
    model,
    store,
    resumed: resumed.value,
    workspace: workspace.value,
    presence,
    release: async () => {
      presence.leave()
      await closeWorkspace(workspace.value, services.log)
      services.workspaces.delete(workspace.value)
      await lease.value.release()
    },
  })
}

async function resume(
  options: OpenSessionOptions,
  store: SessionResources["store"],
  services: Services,
): Promise<Result<ResumedSession | undefined>> {
  if (options.resume === undefined) return ok(undefined)
  try {
    return await loadResumedSession(options.resume, store, services.home)
  } catch (error) {
    return fail(`the session cannot be resumed: ${errorMessage(error)}; \`hermes doctor\` checks the database`)
  }
}

/** The first session of the lineage; undefined for a new conversation. */
async function lineageOf(
  id: SessionId | undefined,
  store: SessionResources["store"],
  { log }: Services,
): Promise<SessionId | undefined> {
  if (id === undefined || "reason" in store) return id
  try {
    return await store.lineageRoot(id)
  } catch (error) {
    log.warning(`results of earlier sessions cannot be read: ${errorMessage(error)}`)
    return id
  }
}

/** A container image may have to be downloaded first. */
const OPEN_WORKSPACE_MS = 600_000

const NO_LEASE = { release: () => Promise.resolve() }

/** Counts this session against `max_concurrent_sessions`, if that is set. */
async function takeSessionSlot(
  id: SessionId,
  { origin }: OpenSessionOptions,
  { config, home, clock, log }: Services,
): Promise<Result<{ release(): Promise<void> }>> {
  const limit = config.get("max_concurrent_sessions")
  if (limit === null) return ok(NO_LEASE)
  const { acquireLease } = await import("../../state/leases.ts")
  const lease = await acquireLease({ home: home.path, limit, id, surface: sourceOf(origin), clock, log })
  if (lease.kind === "granted") return ok(lease)
  const holders = lease.holders.map((holder) => `${holder.id} (${holder.surface}, process ${holder.pid})`).join(", ")
  return fail(
    `${lease.limit} sessions are open and max_concurrent_sessions allows no more: ${holders}. Close one first.`,
  )
}
