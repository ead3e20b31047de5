import { existsSync } from "node:fs"

import { isRecord } from "../../base/json.ts"
import { lazy } from "../../base/lazy.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { DelegationLimits, SpawnAgentPort } from "../../toolkit/ports/spawn-agent.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import { resolveToolset } from "../../toolkit/toolsets.ts"
import type { ToolText } from "../../agent/facet.ts"
import type { RecoveredDelegations } from "../services/recover-delegations.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** Lets a session start sub-agents. A leaf cannot. Nothing is loaded before the first one, except after a crash. */
export async function delegationFacet(context: FacetContext): Promise<AppFacet | undefined> {
  const { options, services } = context
  const { config, home, subAgents } = services
  if (options.child?.role === "leaf") return undefined
  const limits = limitsOf(context)
  const canBackground = options.deliversNotices === true && options.child === undefined
  const loaded = lazy(async () => {
    const [{ openDelegationRecords }, { spawnChild }, { createBackgroundDelegations }] = await Promise.all([
      import("../services/delegation-records.ts"),
      import("../session/spawn-child.ts"),
      import("../session/background-delegations.ts"),
    ])
    const records = openDelegationRecords(home)
    return { spawnChild, records, background: createBackgroundDelegations(context, records) }
  })
  /** Records of sub-agents whose results the running turn will store. */
  const finished = new Set<string>()
  const forgetFinished = async (): Promise<void> => {
    if (finished.size === 0) return
    const { records } = await loaded()
    for (const id of finished) records.remove(id)
    finished.clear()
  }
  const port: SpawnAgentPort = {
    limits,
    refusal: () => {
      if (subAgents.isPausedFor(limits.parentId))
        return "the user has paused sub-agents (/agents resume continues). Do the work yourself"
      if (limits.depth >= limits.maxDepth)
        return `a sub-agent at depth ${limits.depth} cannot start others (delegation.max_spawn_depth is ${limits.maxDepth}). Do the work yourself`
      return undefined
    },
    spawn: async (spec) => {
      const { spawnChild, records } = await loaded()
      return await spawnChild(spec, { context, limits, records, finished: (id) => finished.add(id) })
    },
    ...(canBackground ? { background: { dispatch: async (task) => (await loaded()).background.dispatch(task) } } : {}),
  }
  const recovered = await leftByOthers(context)
  return {
    name: "delegation",
    ports: () => ({ spawnAgent: port }),
    openingWarnings: () => recovered?.warnings ?? [],
    openingWarningsShown: () => {
      recovered?.shown()
    },
    toolText: (entry) =>
      entry.role === "delegation"
        ? describeDelegation(entry, {
            limits,
            canBackground,
            canOrchestrate: limits.orchestratorEnabled && limits.depth + 1 < limits.maxDepth,
            isLocal: context.workspace.kind === "local",
            toolsets: toolsetNames(options.toolsets ?? config.get("toolsets"), context),
          })
        : undefined,
    rotated: ({ from, to }) => {
      loaded.peek()?.then(
        ({ records }) => {
          for (const record of records.list())
            if (record.parent_session_id === from) records.write({ ...record, parent_session_id: to })
        },
        () => undefined,
      )
    },
    runEnded: forgetFinished,
    close: async () => {
      await (await loaded.peek())?.background.close()
      await forgetFinished()
    },
  }
}

/** What became of sub-agents of processes that have ended. Usually there is no such directory. */
async function leftByOthers(context: FacetContext): Promise<RecoveredDelegations | undefined> {
  const { taskId, options, services, isPreview } = context
  if (isPreview || options.child !== undefined || !existsSync(services.home.file("delegations"))) return undefined
  try {
    const { recoverDelegations } = await import("../services/recover-delegations.ts")
    const session = {
      taskId,
      isResumed: options.resume !== undefined,
      showsNotices: options.deliversNotices === true,
    }
    return await recoverDelegations(session, services)
  } catch (error) {
    const warning = `What became of earlier sub-agents could not be found out: ${errorMessage(error)}.`
    return { warnings: [warning], shown: () => undefined }
  }
}

const MIN_TIMEOUT_SECONDS = 30

function limitsOf({ options, services: { config, log } }: FacetContext): DelegationLimits {
  const timeout = config.get("delegation.child_timeout_seconds")
  const maxConcurrent = Math.max(1, config.get("delegation.max_concurrent_children"))
  if (maxConcurrent > MANY_CHILDREN)
    log.warning(`delegation.max_concurrent_children is ${maxConcurrent}; so many models at the same time are expensive`)
  return {
    parentId: options.child?.subagentId ?? null,
    maxConcurrent,
    depth: options.child?.depth ?? 0,
    maxDepth: Math.min(MAX_DEPTH, Math.max(1, config.get("delegation.max_spawn_depth"))),
    orchestratorEnabled: config.get("delegation.orchestrator_enabled"),
    timeoutMs: timeout === 0 ? undefined : Math.max(MIN_TIMEOUT_SECONDS, timeout) * 1000,
  }
}

const MAX_DEPTH = 3
const MANY_CHILDREN = 10

interface DescribedDelegation {
  readonly limits: DelegationLimits
  readonly canBackground: boolean
  readonly canOrchestrate: boolean
  readonly isLocal: boolean
  readonly toolsets: readonly string[]
}

/** The declaration with the limits of this session and without what is not possible in it. */
function describeDelegation({ description, parameters }: ToolEntry, session: DescribedDelegation): ToolText {
  const impossible = new Set([
    ...(session.canOrchestrate ? [] : ["role"]),
    ...(session.canBackground ? [] : ["background"]),
    ...(session.isLocal ? [] : ["worktree"]),
  ])
  const possible = withoutProperties(parameters, impossible)
  const properties = recordOf(possible["properties"])
  const tasks = recordOf(properties["tasks"])
  return {
    description,
    parameters: {
      ...possible,
      properties: {
        ...properties,
        toolsets: {
          ...recordOf(properties["toolsets"]),
          description: `Default: yours (${session.toolsets.join(", ")})`,
        },
        tasks: {
          ...tasks,
          description: `At most ${session.limits.maxConcurrent}, run at the same time`,
          items: withoutProperties(recordOf(tasks["items"]), impossible),
        },
      },
    },
  }
}

function withoutProperties(
  schema: Readonly<Record<string, unknown>>,
  left: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const kept = Object.entries(recordOf(schema["properties"])).filter(([name]) => !left.has(name))
  return { ...schema, properties: Object.fromEntries(kept) }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

/** The toolsets that sub-agents of this session can get. */
function toolsetNames(enabled: readonly string[], { services: { registry } }: FacetContext): readonly string[] {
  const snapshot = registry.snapshot()
  const names = enabled.flatMap((name) => resolveToolset(name, { snapshot }) ?? [])
  const toolsets = names.flatMap((name) => {
    const entry = snapshot.tools.get(name)
    return entry === undefined || entry.inChildren === false || entry.bridge !== undefined ? [] : [entry.toolset]
  })
  return [...new Set(toolsets)].toSorted()
}
