import { readFileSync } from "node:fs"
import { resolve } from "node:path"

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
import { chooseFrom, fallbackModels, openPool } from "./model-sources.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import { isEffort } from "../llm/model.ts"
import type { ModelClient } from "../llm/model.ts"
import { openModel } from "../llm/open-model.ts"
import type { OpenModelOptions } from "../llm/open-model.ts"
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
import { createSpending } from "./session-spending.ts"
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
  /** Let a model name the conversation; a run that ends at once has no time for it. */
  readonly generateTitle?: boolean
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
  const opened = await openModelFor(options.model, shared)
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
      system: [base, shared.environment.get("HERMES_EPHEMERAL_SYSTEM_PROMPT"), options.ephemeralPrompt]
        .filter((part) => part !== undefined && part !== "")
        .join("\n\n"),
      tools,
      history: [...(past?.value.messages ?? [])],
      log:
        "reason" in store
          ? unsavedLog
          : createSessionLog({
              store,
              session,
              resumed: past !== undefined,
              retitles: options.generateTitle === true,
              clock,
            }),
      dispatch: dispatchFor({ id, tools, workspace, options }, shared),
      maxIterations: options.maxIterations ?? config.get("agent.max_turns"),
      sampling: samplingFor(id, shared),
      spending: createSpending({
        limitUsd: config.get("model.max_session_cost_usd"),
        spentUsd: past?.value.spentUsd ?? 0,
        cacheTtl: config.get("prompt_caching.cache_ttl"),
      }),
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
      openModel: (chosen) => openModelFor(chosen, shared),
      ...(options.generateTitle === true ? { makeTitle: titleMaker(options.model, shared) } : {}),
      release: async () => {
        await workspace.close()
        shared.workspaces.delete(workspace)
        await lease.value.release()
      },
    }),
  )
}

/** What every request of the session asks of the model, from the settings. */
function samplingFor(id: SessionId, { config }: Shared): SessionParts["sampling"] {
  const effort = config.get("agent.reasoning_effort")
  const maxOutputTokens = config.get("model.max_tokens")
  return {
    conversationId: id,
    cacheTtl: config.get("prompt_caching.cache_ttl"),
    ...(isEffort(effort) ? { effort } : {}),
    ...(maxOutputTokens === null ? {} : { maxOutputTokens }),
  }
}

/** The client for a model, with the settings, keys and fallbacks of this home. */
async function openModelFor(
  chosen: ChosenModel,
  shared: Shared,
  limits: Partial<Pick<OpenModelOptions, "maxAttempts" | "fallbacks">> = {},
): Promise<Result<ModelClient>> {
  const { config } = shared
  return await openModel(chosen, {
    ...shared,
    userHome: shared.home.userHome,
    random: Math.random,
    maxAttempts: Math.max(1, config.get("agent.api_max_retries")),
    pool: (provider) => openPool(provider, shared),
    fallbacks: fallbackModels(shared),
    guardrail: config.get("bedrock.guardrail"),
    awsRegion: config.get("bedrock.region"),
    openRouter: {
      routing: config.get("provider_routing"),
      minCodingScore: config.get("openrouter.min_coding_score"),
      ...(config.get("openrouter.response_cache")
        ? { responseCacheTtl: config.get("openrouter.response_cache_ttl") }
        : {}),
    },
    ...(await demoScript(shared.environment)),
    ...limits,
  })
}

/** Titles come from a side call to a small model; the code for it is loaded with the first one. */
function titleMaker(main: ChosenModel, shared: Shared): NonNullable<SessionParts["makeTitle"]> {
  return async (exchange, signal) => {
    const [{ createAuxiliary }, { titleFor }] = await Promise.all([
      import("../llm/auxiliary/auxiliary.ts"),
      import("./session-title.ts"),
    ])
    const auxiliary = createAuxiliary({
      ...shared,
      main: () => main,
      choose: (wish) => chooseFrom(shared, wish),
      open: (chosen) => openModelFor(chosen, shared, { maxAttempts: 2, fallbacks: [] }),
    })
    try {
      return await titleFor(exchange, auxiliary, signal)
    } finally {
      auxiliary.close()
    }
  }
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
      ...writeRoot(shared.environment),
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

function writeRoot(environment: Environment): { readonly writeRoot?: string } {
  const root = environment.get("HERMES_WRITE_SAFE_ROOT")?.trim() ?? ""
  return root === "" ? {} : { writeRoot: resolve(root) }
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
  readonly spentUsd: number
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
    spentUsd: row.estimatedCostUsd ?? 0,
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
