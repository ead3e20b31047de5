import { readFileSync } from "node:fs"

import type { Clock } from "../base/clock.ts"
import type { Log } from "../base/log.ts"
import type { Redactor } from "../base/redact.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { errorMessage } from "../base/system-error.ts"
import { unsettledCalls } from "../agent/history.ts"
import { createPermissions } from "../agent/permissions.ts"
import { joinLayers } from "../agent/prompt/build-prompt.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import type { Workspace } from "../exec/workspace.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import { openModel } from "../llm/open-model.ts"
import type { PermissionProfile } from "../policy/decide.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Message } from "../protocol/message.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import { newSessionId } from "../state/session-id.ts"
import type { NewSession, SessionStore } from "../state/store.ts"
import { createDefinitionSource } from "../toolkit/definitions.ts"
import type { ToolRegistry } from "../toolkit/registry.ts"
import { toolsetsOffByDefault } from "../toolkit/toolsets.ts"
import { dumpingRequests } from "./request-dump.ts"
import { createSession } from "./session.ts"
import type { Session, SessionParts } from "./session.ts"
import { createSessionLog, unsavedLog } from "./session-log.ts"
import { layersFor, memoryPort } from "./session-prompt.ts"
import { limitsOf, openWorkspace } from "./session-workspace.ts"

export interface OpenSessionOptions {
  readonly model: ChosenModel
  readonly cwd: string
  readonly source: string
  readonly platform: string
  readonly permissionProfile: PermissionProfile
  /** Somebody is there to answer questions. */
  readonly attended: boolean
  readonly resume?: SessionId
  readonly toolsets?: readonly string[]
  readonly maxIterations?: number
  /** Added to the prompt of this process only, never stored. */
  readonly ephemeralPrompt?: string
  readonly passSessionId?: boolean
}

/** What the sessions of one app share. */
export interface Shared {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
  readonly clock: Clock
  readonly log: Log
  readonly version: string
  readonly registry: ToolRegistry
  readonly redactor: Redactor
  readonly store: () => Promise<SessionStore>
  /** Those of the open sessions. */
  readonly workspaces: Set<Workspace>
}

/** Puts a session together: its model, history, prompt, tools and place to work. */
export async function openSession(options: OpenSessionOptions, shared: Shared): Promise<Result<Session>> {
  const { clock, config, redactor } = shared
  const opened = await openModel(options.model, {
    clock,
    random: Math.random,
    maxAttempts: Math.max(1, config.get("agent.api_max_retries")),
    timeouts: timeoutsFor(options.model, shared.environment),
    version: shared.version,
    ...(await demoScript(shared.environment)),
  })
  if (!opened.ok) return opened
  const store = await storeOrReason(shared)
  const past = options.resume === undefined ? undefined : await loadPast(options.resume, store)
  if (past !== undefined && !past.ok) return past
  const id = options.resume ?? newSessionId(clock, "terminal")
  const lease = await takePlace(id, options, shared)
  if (!lease.ok) return lease
  const workspace = openWorkspace(options.cwd, shared, id)
  shared.workspaces.add(workspace)
  const tools = await takeTools(options.toolsets, shared)
  const base =
    past?.value.system ??
    joinLayers(
      await layersFor(
        {
          ...options,
          tools,
          workspace,
          model: options.model.runtime.model,
          sessionId: options.passSessionId === true ? id : undefined,
        },
        shared,
      ),
    )
  const session: NewSession = {
    id,
    source: options.source,
    startedAt: clock.now() / 1000,
    model: options.model.runtime.model,
    systemPrompt: base,
    cwd: options.cwd,
  }
  return ok(
    createSession({
      id,
      clock,
      model: shared.environment.truthy("HERMES_DUMP_REQUESTS")
        ? dumpingRequests(opened.value, { ...shared, sessionId: id })
        : opened.value,
      diagnostics: shared.log,
      system: options.ephemeralPrompt === undefined ? base : `${base}\n\n${options.ephemeralPrompt}`,
      tools,
      history: [...(past?.value.messages ?? [])],
      log:
        "reason" in store
          ? unsavedLog
          : createSessionLog({ store, session, runtime: options.model.runtime, resumed: past !== undefined, clock }),
      dispatch: dispatchFor({ id, tools, workspace, options }, shared),
      maxIterations: options.maxIterations ?? config.get("agent.max_turns"),
      redact: (text, how) => redactor.redact(text, how),
      facts: {
        model: options.model.runtime.model,
        provider: options.model.runtime.provider,
        cwd: options.cwd,
        permissionProfile: options.permissionProfile,
        toolsets: options.toolsets ?? config.get("toolsets"),
        tools: tools.map(({ name }) => name),
        resumed: past !== undefined,
        messages: past?.value.messages.length ?? 0,
        ...("reason" in store ? { unsaved: store.reason } : {}),
      },
      release: async () => {
        opened.value.close()
        await workspace.close()
        shared.workspaces.delete(workspace)
        await lease.value.release()
      },
    }),
  )
}

interface DispatchRequest {
  readonly id: SessionId
  readonly tools: readonly ToolDefinition[]
  readonly workspace: Workspace
  readonly options: OpenSessionOptions
}

/** What the door needs of this session: its tools, limits, permissions and the context every call gets. */
function dispatchFor({ id, tools, workspace, options }: DispatchRequest, shared: Shared): SessionParts["dispatch"] {
  const { clock, config, home, redactor } = shared
  const offered = new Set(tools.map(({ name }) => name))
  return {
    tools: new Map([...shared.registry.snapshot().tools].filter(([name]) => offered.has(name))),
    redact: (text) => redactor.redact(text),
    workspace,
    clock,
    budget: {
      defaultChars: config.get("tool_results.default_chars"),
      turnChars: config.get("tool_results.turn_chars"),
      previewChars: config.get("tool_results.preview_chars"),
      overrides: numberEntries(config.get("tool_results.overrides")),
    },
    permissions: createPermissions({
      profile: options.permissionProfile,
      attended: options.attended,
      headless: config.get("approvals.headless_mode") === "approve" ? "approve" : "deny",
      askTimeoutMs: config.get("approvals.timeout") * 1000,
    }),
    places: {
      workspaceRoot: options.cwd,
      userHome: home.userHome,
      hermesHome: home.path,
      hermesRoot: home.root,
    },
    context: (callId, signal, progress) => ({
      workspace,
      signal,
      taskId: id,
      sessionId: id,
      callId,
      clock,
      redact: (text, how) => redactor.redact(text, how),
      ports: { memory: memoryPort(shared) },
      progress,
      limits: limitsOf(config),
    }),
  }
}

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

/** A store that cannot be opened is no reason not to talk: the session then lives in memory, and says so. */
async function storeOrReason(shared: Shared): Promise<SessionStore | { readonly reason: string }> {
  try {
    return await shared.store()
  } catch (error) {
    shared.log.error(`session storage is unavailable: ${errorMessage(error)}`)
    return { reason: errorMessage(error) }
  }
}

interface Past {
  readonly messages: readonly Message[]
  readonly system: string | undefined
}

/** The conversation so far, valid for every wire: calls that were in flight when the process died get their result now. */
async function loadPast(id: SessionId, store: SessionStore | { readonly reason: string }): Promise<Result<Past>> {
  if ("reason" in store) return fail(`the session cannot be resumed: ${store.reason}`)
  const row = await store.session(id)
  if (row === undefined) return fail(`there is no session ${id}; \`hermes sessions list\` shows them`)
  const messages = await store.conversation(id)
  const lost = unsettledCalls(messages)
  if (lost.length > 0) await store.append(id, lost)
  if (row.endedAt !== null) await store.reopenSession(id)
  return ok({
    messages: [...messages, ...lost],
    system: row.systemPrompt === "" ? undefined : (row.systemPrompt ?? undefined),
  })
}

/** The tools a session is offered; it keeps this list for life (law 3). */
export async function takeTools(
  toolsets: readonly string[] | undefined,
  shared: Shared,
): Promise<readonly ToolDefinition[]> {
  const enabled = toolsets ?? shared.config.get("toolsets")
  const source = createDefinitionSource({ registry: shared.registry, log: shared.log, configStamp: () => "" })
  return await source.getToolDefinitions({
    enabled,
    disabled: [...shared.config.get("agent.disabled_toolsets"), ...toolsetsOffByDefault(enabled)],
  })
}

const CONNECT_MS = 30_000
const STALE_STREAM_MS = 180_000

/** A local server may think for minutes before its first word; a cloud that is silent that long is gone. */
function timeoutsFor(
  model: ChosenModel,
  environment: Environment,
): { readonly connectMs: number; readonly idleMs: number } {
  if (model.runtime.billingMode === "local") return { connectMs: 2 * CONNECT_MS, idleMs: 0 }
  const seconds = Number(environment.get("HERMES_STREAM_STALE_TIMEOUT") ?? "")
  return { connectMs: CONNECT_MS, idleMs: seconds > 0 ? seconds * 1000 : STALE_STREAM_MS }
}

async function demoScript(environment: Environment): Promise<{ readonly demoScript?: unknown }> {
  const path = environment.get("HERMES_DEMO_SCRIPT")
  if (path === undefined || path === "") return {}
  const { parse } = await import("yaml")
  return { demoScript: parse(readFileSync(path, "utf8")) }
}

function numberEntries(mapping: Readonly<Record<string, unknown>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(mapping).flatMap(([name, value]) => (typeof value === "number" ? [[name, value]] : [])),
  )
}
