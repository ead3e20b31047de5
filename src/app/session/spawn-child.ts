import { writeFileSync } from "node:fs"

import type { Delegation } from "../../agent/facet.ts"
import { childPrompt } from "../../agent/prompt/child-prompt.ts"
import { platformOf } from "../../agent/origin.ts"
import { epochSeconds } from "../../base/clock.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { AgentEvent, SubagentRole } from "../../protocol/events.ts"
import type { UserInput } from "../../protocol/message.ts"
import type {
  AgentEnd,
  AgentSpec,
  ClosedAgent,
  DelegationLimits,
  SpawnedAgent,
} from "../../toolkit/ports/spawn-agent.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import { resolveToolset } from "../../toolkit/toolsets.ts"
import { filesChangedAfterRead } from "../../tools/file/tracking/file-tracker.ts"
import { thisProcess } from "../services/delegation-records.ts"
import type { DelegationRecord, DelegationRecords } from "../services/delegation-records.ts"
import { chooseModelFor } from "../services/model-sources.ts"
import type { TrackedSubAgent } from "../services/sub-agents.ts"
import type { FacetContext } from "./facet-context.ts"
import type { OpenedChild } from "./opened-child.ts"
import type { WorkingDirectory } from "./working-directory.ts"
import { plainDirectory } from "./working-directory.ts"

/** The session that starts sub-agents. */
export interface SpawningSession {
  readonly context: FacetContext
  readonly limits: DelegationLimits
  readonly records: DelegationRecords
  /** The record of a sub-agent in the foreground is kept until the run that waits for it has ended. */
  readonly finished: (recordId: string) => void
}

/** Opens the session of a sub-agent. On failure nothing is left behind. */
export async function spawnChild(spec: AgentSpec, parent: SpawningSession): Promise<Result<SpawnedAgent>> {
  const { context, limits } = parent
  const { services } = context
  const { role, note } = possibleRole(spec.role, limits)
  const allowed = allowedTools(spec, role, context)
  if (!allowed.ok) return allowed
  const model = childModel(context)
  if (!model.ok) return model
  if (spec.signal.aborted) return fail("it was stopped before it started")
  const directory = await openDirectory(spec, context)
  if (!directory.ok) return directory
  const opened = await openChildSession(spec, {
    ...parent,
    role,
    model: model.value,
    directory: directory.value,
    allows: allowed.value,
  })
  if (!opened.ok) {
    await directory.value.close()
    return fail(`the sub-agent could not be started: ${opened.error}`)
  }
  const session = opened.value
  const endHold = context.workspace.hold?.()
  const stop = new AbortController()
  const signal = AbortSignal.any([spec.signal, stop.signal])
  const record = newRecord(spec, session, parent)
  try {
    parent.records.write(record)
  } catch (error) {
    services.log.warning(`the sub-agent ${spec.id} is not recorded: ${errorMessage(error)}`)
  }
  const tracked = services.subAgents.add(
    {
      id: spec.id,
      parentId: limits.parentId,
      depth: limits.depth + 1,
      goal: spec.goal,
      role,
      model: session.facts.model,
      toolsets: spec.toolsets ?? session.facts.toolsets,
      sessionId: session.id,
      ...(spec.delegationId === undefined ? {} : { delegationId: spec.delegationId }),
      startedAt: services.clock.now(),
    },
    {
      interrupt: () => {
        stop.abort()
      },
      steer: (text) => session.steer(text),
    },
  )
  const delegation = { goal: spec.goal, role, childTaskId: session.id }
  context.facets().delegationStarted(delegation)
  const startedAt = services.clock.now()
  const open: OpenChild = { spec, session, record, tracked, directory: directory.value, delegation, startedAt }
  return ok({
    sessionId: session.id,
    model: session.facts.model,
    role,
    ...(note === undefined ? {} : { note }),
    signal,
    run: () => runChild(open, signal),
    close: (end) => {
      const closed = closeChild(open, end, parent).finally(() => endHold?.())
      services.subAgents.track(closed)
      return closed
    },
  })
}

interface OpenChild {
  readonly spec: AgentSpec
  readonly session: OpenedChild
  readonly record: DelegationRecord
  readonly tracked: TrackedSubAgent
  readonly directory: WorkingDirectory
  readonly delegation: Delegation
  readonly startedAt: number
}

/** A message of the user that came too late for a run starts another one. */
async function* runChild(
  { spec, session, tracked }: OpenChild,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, void, void> {
  let input: UserInput | undefined = spec.goal
  let delegated = true
  while (input !== undefined) {
    let next: UserInput | undefined
    for await (const event of session.run(input, { signal, delegated })) {
      tracked.observe(event)
      if (event.type === "run-end") next = event.result.pendingSteer
      yield event
    }
    input = signal.aborted ? undefined : next
    delegated = false
  }
}

async function closeChild(child: OpenChild, end: AgentEnd, parent: SpawningSession): Promise<ClosedAgent> {
  const { spec, session, record, tracked, directory } = child
  const { context } = parent
  const { services } = context
  const { clock, log, home } = services
  let keptWorktree: string | undefined
  try {
    await session.close(end.status)
    await services.processes.killOwned(childTaskId(record), "the sub-agent ended")
    keptWorktree = await directory.close()
  } catch (error) {
    log.warning(`the sub-agent ${spec.id} did not close properly: ${errorMessage(error)}`)
  }
  tracked.end(end.status)
  const { status, summary } = end
  try {
    // A delegation in the background stores its whole result itself.
    if (!record.background) parent.records.write({ ...record, status, summary, ended_at: epochSeconds(clock) })
  } catch (error) {
    log.warning(`the result of the sub-agent ${spec.id} is not recorded: ${errorMessage(error)}`)
  }
  if (!record.background) parent.finished(record.id)
  const durationMs = clock.now() - child.startedAt
  context.facets().delegationEnded({ ...child.delegation, status, summary, childSessionId: session.id, durationMs })
  const files = filesChangedAfterRead(services.files, { reader: context.taskId, writer: childTaskId(record) })
  const neverAnswered = status === "timeout" && !end.hasAnswered
  const diagnosticFile = neverAnswered ? writeDiagnostics(child, parent) : undefined
  return {
    stalePaths: files.map((path) => home.display(path)),
    ...(keptWorktree === undefined ? {} : { keptWorktree }),
    ...(keptWorktree === undefined || directory.branch === undefined ? {} : { branch: directory.branch }),
    ...(diagnosticFile === undefined ? {} : { diagnosticFile }),
  }
}

function childTaskId({ child_session_id: id }: DelegationRecord): string {
  return id ?? ""
}

/** An orchestrator where the settings and the depth leave room for its own sub-agents. */
function possibleRole(
  requested: SubagentRole,
  { depth, maxDepth, orchestratorEnabled }: DelegationLimits,
): { readonly role: SubagentRole; readonly note?: string } {
  if (requested === "leaf") return { role: "leaf" }
  if (!orchestratorEnabled) return { role: "leaf", note: "It was a leaf: delegation.orchestrator_enabled is false." }
  if (depth + 1 >= maxDepth)
    return { role: "leaf", note: `It was a leaf: its depth ${depth + 1} is the limit (delegation.max_spawn_depth).` }
  return { role: "orchestrator" }
}

/**
 * Which tools the sub-agent may have: those of its parent, limited to the requested toolsets, without those that sub-agents must not have.
 * Compared by name, so that a toolset that contains others lets nothing through.
 */
function allowedTools(
  spec: AgentSpec,
  role: SubagentRole,
  { services: { config, registry }, session }: FacetContext,
): Result<(tool: ToolEntry) => boolean> {
  const { tools } = session().dispatch
  const entries = [...tools.values()]
  const requested = spec.toolsets?.map((toolset) => {
    const own = entries.filter((entry) => entry.toolset === toolset).map(({ name }) => name)
    const known = resolveToolset(toolset, { snapshot: registry.snapshot() })
    return { toolset, names: known === undefined && own.length === 0 ? undefined : [...(known ?? []), ...own] }
  })
  const unknown = (requested ?? []).filter(({ names }) => names === undefined).map(({ toolset }) => toolset)
  const available = [...new Set(entries.filter((entry) => isForChildren(entry, role)).map(({ toolset }) => toolset))]
  const advice = `Use some of ${available.toSorted().join(", ")}, or leave toolsets out to give it all of yours.`
  if (unknown.length > 0) return fail(`there is no toolset ${unknown.join(", ")}. ${advice}`)
  const names = requested === undefined ? undefined : new Set(requested.flatMap((each) => each.names ?? []))
  const inheritsMcp = config.get("delegation.inherit_mcp_toolsets")
  const isRequested = ({ name, source }: ToolEntry): boolean => {
    if (source.kind === "mcp") return inheritsMcp || names?.has(name) === true
    return names === undefined || names.has(name)
  }
  const allowedNames = new Set(
    entries.filter((entry) => isForChildren(entry, role) && isRequested(entry)).map(({ name }) => name),
  )
  if (allowedNames.size === 0)
    return fail(`none of your tools is in the toolsets ${(spec.toolsets ?? []).join(", ")}. ${advice}`)
  // Its own sub-agents get what it has, so an orchestrator may delegate even if it did not request that toolset.
  return ok((tool) => tool.bridge !== undefined || allowedNames.has(tool.name) || isDelegation(tool, role))
}

function isForChildren(entry: ToolEntry, role: SubagentRole): boolean {
  return entry.bridge === undefined && (entry.inChildren !== false || isDelegation(entry, role))
}

function isDelegation(entry: ToolEntry, role: SubagentRole): boolean {
  return entry.role === "delegation" && role === "orchestrator"
}

/** The model of the settings for sub-agents, else the one that answers in the parent now. */
function childModel({ services, session }: FacetContext): Result<ChosenModel> {
  const { config } = services
  const configured = {
    model: config.get("delegation.model"),
    provider: config.get("delegation.provider"),
    baseUrl: config.get("delegation.base_url"),
    apiKey: config.get("delegation.api_key"),
    apiMode: config.get("delegation.api_mode"),
  }
  const selection = Object.fromEntries(Object.entries(configured).filter(([, value]) => value !== ""))
  if (Object.keys(selection).length === 0) return ok(session().chosenModel())
  const chosen = chooseModelFor(services, selection)
  return chosen.ok ? chosen : fail(`the model of the settings delegation.* cannot be used: ${chosen.error.message}`)
}

/** The directory of the parent, or a worktree of its own. */
async function openDirectory(spec: AgentSpec, { options, services }: FacetContext): Promise<Result<WorkingDirectory>> {
  const { sandboxPaths } = options
  if (!spec.worktree) return ok(plainDirectory(options.cwd, sandboxPaths === undefined ? {} : { sandboxPaths }))
  const { openWorktreeDirectory } = await import("./worktree-directory.ts")
  const request = { cwd: options.cwd, isCwdNamed: true, worktree: true, resume: undefined, signal: spec.signal }
  const opened = await openWorktreeDirectory(request, services)
  return opened.ok ? opened : fail(`the sub-agent has no worktree: ${opened.error} Leave worktree out.`)
}

interface ChildParts extends SpawningSession {
  readonly role: SubagentRole
  readonly model: ChosenModel
  readonly directory: WorkingDirectory
  readonly allows: (tool: ToolEntry) => boolean
}

async function openChildSession(spec: AgentSpec, parts: ChildParts): Promise<Result<OpenedChild>> {
  const { context, limits, role, model, directory } = parts
  const { options, services, taskId } = context
  const { config } = services
  const session = context.session()
  const headless = config.get("delegation.subagent_auto_approve") ? "approve-detected" : "deny"
  const permissions = session.dispatch.permissions.inherited({ headless })
  const { origin, toolsets } = options
  const depth = limits.depth + 1
  const isLocal = context.workspace.kind === "local"
  // A delegation in the background outlives the turn that starts it.
  const isShared = config.get("delegation.share_parent_budget") && spec.delegationId === undefined
  const parentBudget = isShared ? session.turnBudget.current : undefined
  return await services.openChild({
    model,
    cwd: directory.cwd,
    ...(directory.sandboxPaths === undefined ? {} : { sandboxPaths: directory.sandboxPaths }),
    ...(options.checkpoints === undefined ? {} : { checkpoints: options.checkpoints }),
    ...(toolsets === undefined ? {} : { toolsets }),
    origin: {
      surface: origin.surface,
      platform: platformOf(origin),
      source: "subagent",
      attended: () => false,
      ...(origin.identity === undefined ? {} : { identity: origin.identity }),
    },
    maxIterations: config.get("delegation.max_iterations"),
    child: {
      subagentId: spec.id,
      depth,
      role,
      parent: session.conversation.id,
      rootTaskId: options.child?.rootTaskId ?? taskId,
      permissions,
      shell: session.dispatch.shell.child(),
      ...(parentBudget === undefined ? {} : { parentBudget }),
      spending: session.spending.child(),
      earlierHistory: [...(options.child?.earlierHistory ?? []), ...session.conversation.history],
      reasoningEffort: config.get("delegation.reasoning_effort"),
      prompt: childPrompt({
        goal: spec.goal,
        context: spec.context,
        workspacePath: isLocal ? directory.cwd : context.workspace.cwd(),
        workspaceNote: directory.note,
        isPlanMode: permissions.rules().profile.default === "plan",
        ...(role === "leaf"
          ? {}
          : { orchestrator: { depth, maxDepth: limits.maxDepth, maxConcurrent: limits.maxConcurrent } }),
      }),
      allows: parts.allows,
    },
  })
}

function newRecord(spec: AgentSpec, session: OpenedChild, { context, records }: SpawningSession): DelegationRecord {
  const { services } = context
  const started =
    spec.delegationId === undefined ? undefined : records.list().find(({ id }) => id === spec.delegationId)
  const ids = { subagent_id: spec.id, child_session_id: session.id }
  if (started !== undefined) return { ...started, ...ids }
  return {
    version: 1,
    id: spec.delegationId ?? spec.id,
    background: spec.delegationId !== undefined,
    parent_session_id: context.session().conversation.id,
    ...ids,
    goal: services.redactor.redact(spec.goal),
    ...(spec.context === undefined ? {} : { context: services.redactor.redact(spec.context) }),
    started_at: epochSeconds(services.clock),
    status: "running",
    reported: false,
    delivered: false,
    process: thisProcess(),
  }
}

/** Facts about a sub-agent whose model never answered in time; undefined when they cannot be written. */
function writeDiagnostics({ spec, session }: OpenChild, { context, limits }: SpawningSession): string | undefined {
  const { home, clock, log, redactor } = context.services
  const path = home.file("logs", `subagent-timeout-${session.id}.log`)
  const { model, provider, cwd, permissionProfile, tools } = session.facts
  const facts = {
    time: new Date(clock.now()).toISOString(),
    subagent: spec.id,
    session: session.id,
    depth: limits.depth + 1,
    timeout_seconds: (limits.timeoutMs ?? 0) / 1000,
    model,
    provider,
    endpoint: context.session().chosenModel().runtime.baseUrl,
    cwd,
    permission_profile: permissionProfile,
    tools,
    activity: session.activity(),
    resources: process.getActiveResourcesInfo(),
    memory: process.memoryUsage(),
    stack: new Error("stack").stack?.split("\n").slice(1),
  }
  try {
    makeDirectories(home.file("logs"))
    writeFileSync(path, `${redactor.redact(JSON.stringify(facts, undefined, 2))}\n`, { mode: 0o600 })
    return home.display(path)
  } catch (error) {
    log.warning(`the diagnostic file could not be written: ${errorMessage(error)}`)
    return undefined
  }
}
