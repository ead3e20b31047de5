import { Conversation } from "../../agent/conversation.ts"
import { endsInterrupted } from "../../agent/partial-reply.ts"
import { platformOf, sessionIdKind, sourceOf } from "../../agent/origin.ts"
import { joinLayers } from "../../agent/prompt/build-prompt.ts"
import { lazy } from "../../base/lazy.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { startRefusal } from "../../config/config-problem.ts"
import type { Config } from "../../config/load-config.ts"
import type { Workspace } from "../../exec/workspace.ts"
import { unknownProfileText } from "../../policy/permission-profile.ts"
import type { PermissionProfile } from "../../policy/permission-profile.ts"
import { BUILT_IN_POLICY } from "../../policy/rules/permission-policy.ts"
import type { PermissionPolicy } from "../../policy/rules/permission-policy.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { NO_USAGE } from "../../protocol/usage.ts"
import { newSessionId } from "../../state/session-id.ts"
import type { OfferedTools } from "../../toolkit/deferred-tools.ts"
import type { ToolEntry, ToolPorts } from "../../toolkit/tool.ts"
import { loadPermissionPolicy } from "../permissions/load-permission-policy.ts"
import type { LoadedPolicy } from "../permissions/load-permission-policy.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import { findPersonality } from "../services/personalities.ts"
import type { Personality } from "../services/personalities.ts"
import { openModelClient, samplingFor } from "../services/model-client.ts"
import type { Services } from "../services/services.ts"
import { createAuxiliaryModel } from "./auxiliary-model.ts"
import { createFacets, late } from "./create-facets.ts"
import type { CreatedFacets } from "./create-facets.ts"
import type { FacetFactory } from "./facet-context.ts"
import { lazyImageDescriber } from "./image-describer.ts"
import { changedWorkspaceNote, openingWarnings } from "./opening-notices.ts"
import { dumpingRequests } from "./request-dump.ts"
import type { ResumedSession } from "./resume.ts"
import { createSessionCompression } from "./session-compression.ts"
import { createDispatchSession } from "./session-dispatch.ts"
import { createSessionJournal, createUnsavedJournal } from "./session-journal.ts"
import type { SessionJournal } from "./session-journal.ts"
import type { OpenSessionOptions } from "./session-options.ts"
import type { SessionParts } from "./session-parts.ts"
import { buildSessionPrompt } from "./session-prompt.ts"
import type { PromptDraft } from "./session-prompt.ts"
import { readFenceKey } from "./fence-key.ts"
import { createPartialReplyFile } from "./partial-reply-file.ts"
import { openResources } from "./session-resources.ts"
import type { SessionResources } from "./session-resources.ts"
import { createSpending } from "./session-spending.ts"
import type { SessionSpending } from "./session-spending.ts"
import { createGrowingTools, divideTools, selectTools } from "./session-tools.ts"
import type { SessionTools } from "./session-tools.ts"
import { createSession } from "./session.ts"
import { DECLARED_TOOLS, promptMark } from "./stored-prompt.ts"
import type { Session } from "./session.ts"

/** Opens a session: acquires its resources, creates its facets, builds its prompt, then connects the loop to all of them. */
export async function openSession(
  options: OpenSessionOptions,
  services: Services,
  facetList: readonly FacetFactory[],
): Promise<Result<Session>> {
  const permissions = await openPermissions(options, services)
  if (!permissions.ok) return permissions
  const images = lazyImageDescriber(services)
  const acquired = await openResources(options, images, services)
  if (!acquired.ok) return acquired
  const resources = acquired.value
  const cleanUp = new AsyncDisposableStack()
  cleanUp.defer(() => resources.release())
  cleanUp.defer(() => {
    resources.model.close()
  })
  try {
    return ok(
      await connectSession({
        options: { ...options, permissionProfile: permissions.value.profile },
        policy: permissions.value.policy,
        services,
        facetList,
        images,
        resources,
        cleanUp,
      }),
    )
  } catch (error) {
    await cleanUp.disposeAsync()
    throw error
  }
}

/** The rules of the session, and its profile: the one of this invocation or of the settings. */
async function openPermissions(options: OpenSessionOptions, { config, home }: Services): Promise<Result<LoadedPolicy>> {
  // A sub-agent has the permissions of its parent; nothing is read that could loosen them.
  if (options.child !== undefined) return ok({ policy: BUILT_IN_POLICY, profile: options.child.permissions.profile })
  const refusal = startRefusal(config.problems)
  if (refusal !== undefined) return fail(refusal)
  const loaded = await loadPermissionPolicy({
    config,
    home,
    workspaceRoot: config.get("terminal.backend") === "local" ? options.cwd : undefined,
    platform: platformOf(options.origin),
    ...(options.permissionFlags === undefined ? {} : { flags: options.permissionFlags }),
  })
  if (!loaded.ok) return loaded
  const { policy } = loaded.value
  const profile = options.permissionProfile ?? loaded.value.profile
  if (!policy.profiles.has(profile)) return fail(unknownProfileText(profile, [...policy.profiles.keys()]))
  return ok({ policy, profile })
}

interface SessionSource {
  readonly options: OpenSessionOptions & { readonly permissionProfile: PermissionProfile }
  readonly policy: PermissionPolicy
  readonly services: Services
  readonly facetList: readonly FacetFactory[]
  readonly images: ReturnType<typeof lazyImageDescriber>
  readonly resources: SessionResources
  /** Runs when the session cannot be opened. */
  readonly cleanUp: AsyncDisposableStack
}

async function connectSession(source: SessionSource): Promise<Session> {
  const { options, services, facetList, images, resources } = source
  const { clock, config, redactor, log } = services
  const { id, resumed, workspace, store } = resources
  const spending = options.child?.spending ?? openSpending(resumed, services)
  const session = late<SessionParts>("the session is not open yet")
  const chosen = late<ChosenModel>("no model is chosen yet")
  chosen.set(options.model)
  const auxiliary = createAuxiliaryModel(
    { main: options.model, spending, addCall: (call) => session.get().journal.addCall(call) },
    services,
  )
  images.setAuxiliary(auxiliary)
  const created = await createFacets(facetList, {
    taskId: id,
    options,
    services,
    workspace,
    auxiliary,
    isPreview: false,
    session: session.get,
  })
  const facets = created.combined
  source.cleanUp.defer(() => facets.close("not_opened"))
  const prefix = await buildPrefix(options, { resources, created }, services)
  const { tools, offered } = prefix
  const growing = createGrowingTools(tools, offered, services)
  const journal = openJournal(prefix, { options, resources, services })
  const conversation = new Conversation({
    id,
    system: prefix.sent(prefix.stored),
    history: [...(resumed?.messages.keys() ?? [])],
    journal,
  })
  const ports: ToolPorts = { ...created.ports, deferredTools: growing.port }
  const permissionProfile = created.abilities.plan?.isUndecided === true ? "plan" : options.permissionProfile
  const dispatch = createDispatchSession(
    {
      taskId: id,
      conversation,
      tools: growing,
      workspace,
      facets,
      ports,
      auxiliary,
      options: { ...options, permissionProfile },
      policy: source.policy,
      planFile: created.abilities.plan?.path,
    },
    services,
  )
  const { compression, catchUp, warnings } = createSessionCompression(
    { conversation, journal, facets, ports, auxiliary, dispatch, tools: offered.declared, model: options.model },
    services,
  )
  const openingNote = resumed === undefined ? undefined : await noteForResumed(resumed, { options, workspace })
  services.prewarm.start(options.model)
  const { model, provider } = options.model.runtime
  session.set({
    clock,
    log,
    model: created.wrapModel(
      services.environment.truthy("HERMES_DUMP_REQUESTS")
        ? dumpingRequests(resources.model, { ...services, sessionId: id })
        : resources.model,
    ),
    conversation,
    journal,
    tools: offered.declared,
    allTools: tools.definitions,
    replaceTools: (toolset, entries) => {
      growing.replace(toolset, allowedTools(entries, options))
    },
    dispatch,
    compression,
    catchUp,
    spending,
    sampling: samplingFor(id, services, options.child?.reasoningEffort),
    maxIterations: options.maxIterations ?? config.get("agent.max_turns"),
    turnBudget: { current: undefined },
    ...(options.child?.parentBudget === undefined ? {} : { parentBudget: options.child.parentBudget }),
    budgetPressure: config.get("agent.budget_pressure") === "legacy",
    redact: (text, how) => redactor.redact(text, how),
    maskStream: () => redactor.stream(),
    fenceKey: lazy(() => readFenceKey(services.home)),
    facets,
    abilities: created.abilities,
    footers: {
      failedWrites: config.get("display.file_mutation_verifier"),
      explainEnd: config.get("display.turn_completion_explainer"),
    },
    facts: {
      model,
      provider,
      cwd: options.cwd,
      permissionProfile,
      ...personalityFact(options, config),
      toolsets: options.toolsets ?? config.get("toolsets"),
      tools: tools.definitions.map(({ name }) => name),
      resumed: resumed !== undefined,
      messages: conversation.history.length,
      endsInterrupted: endsInterrupted(conversation.history),
      ...movedFrom(options, { resumed, kind: workspace.kind }),
      ...("reason" in store ? { unsaved: store.reason } : {}),
      ...(options.model.problem === undefined ? {} : { modelProblem: options.model.problem }),
    },
    openingWarnings: [
      ...("reason" in store ? [`This conversation is not saved: ${store.reason}`] : []),
      ...prefix.warnings,
      ...created.warnings,
      ...warnings,
      ...openingWarnings(resumed),
    ],
    openingWarningsShown: created.warningsShown,
    openingNote,
    todo: () => ports.todo?.read() ?? [],
    background: backgroundNotices(id, services),
    takeAuxiliaryUsage: () => auxiliary.takeUsage(),
    takeNotices: () => [...services.takeStoreNotices(), ...(services.plugins?.loaded.takeNotices() ?? [])],
    answerTask: (requestId, answer) => services.backgroundTasks.answer(requestId, answer),
    expansion: { home: services.home, store: services.store, environment: services.environment },
    chosenModel: chosen.get,
    openModel: async (next) => {
      const opened = await openModelClient(next, services, { images })
      if (!opened.ok) return opened
      chosen.set(next)
      return ok(created.wrapModel(opened.value))
    },
    release: async () => {
      auxiliary.close()
      await resources.release()
    },
  })
  created.opened()
  return createSession(session.get())
}

/** Notices about background processes first, then results of background sub-agents, then messages of plugins. */
function backgroundNotices(id: SessionId, { processes, subAgents, plugins }: Services): SessionParts["background"] {
  return {
    take: () => processes.takeNotice(id) ?? subAgents.takeNotice(id) ?? plugins?.takeMessage(id),
    waitForOne: async (signal) => {
      const enough = new AbortController()
      const either = AbortSignal.any([signal, enough.signal])
      await Promise.race([
        processes.waitForNotice(id, either),
        subAgents.waitForNotice(id, either),
        ...(plugins === undefined ? [] : [plugins.waitForMessage(id, either)]),
      ])
      enough.abort()
    },
  }
}

function allowedTools(entries: readonly ToolEntry[], { child }: OpenSessionOptions): readonly ToolEntry[] {
  return child === undefined ? entries : entries.filter((entry) => child.allows(entry))
}

async function noteForResumed(
  resumed: ResumedSession,
  { options, workspace }: { readonly options: OpenSessionOptions; readonly workspace: Workspace },
): Promise<string | undefined> {
  const facts = await workspace.describe()
  return changedWorkspaceNote({ note: options.workspaceNote, kind: workspace.kind, facts }, resumed)
}

/** The directory on this machine in which the conversation was before. */
function movedFrom(
  { cwd }: OpenSessionOptions,
  { resumed, kind }: { readonly resumed: ResumedSession | undefined; readonly kind: Workspace["kind"] },
): { readonly movedFrom?: string } {
  const former = resumed?.cwd ?? cwd
  return kind !== "local" || former === cwd ? {} : { movedFrom: former }
}

/** The prefix of every request of the session, the same bytes each time. */
interface SessionPrefix {
  readonly tools: SessionTools
  readonly offered: OfferedTools
  /** The system prompt as it is stored. */
  readonly stored: string
  /** For the user. */
  readonly warnings: readonly string[]
  /** Adds to a stored prompt the text that applies to this process only and is never stored. */
  sent(stored: string): string
  /** Builds a new prompt for a child session. */
  draft(id: SessionId): Promise<PromptDraft>
}

async function buildPrefix(
  options: OpenSessionOptions,
  { resources, created }: { readonly resources: SessionResources; readonly created: CreatedFacets },
  services: Services,
): Promise<SessionPrefix> {
  const { id, resumed, workspace } = resources
  const { runtime } = options.model
  const { child } = options
  const { combined } = created
  const tools = selectTools(
    {
      toolsets: options.toolsets,
      fromFacets: combined.tools(),
      workspace,
      toolText: (entry) => combined.toolText(entry),
      ...(child === undefined ? {} : { allows: (entry: ToolEntry) => child.allows(entry) }),
    },
    services,
  )
  const draft = async (sessionId: SessionId): Promise<PromptDraft> =>
    child === undefined
      ? await buildSessionPrompt(
          {
            origin: options.origin,
            runtime,
            tools,
            facets: combined,
            workspace,
            ...(options.passSessionId === true ? { sessionId } : {}),
            ...(options.workspaceNote === undefined ? {} : { workspaceNote: options.workspaceNote }),
          },
          services,
        )
      : { layers: [{ name: "sub-agent", text: child.prompt }], warnings: [] }
  // A stored prompt is used byte for byte, even if the files it was built from have changed.
  const built = resumed?.system === undefined ? await draft(id) : undefined
  const stored = resumed?.system ?? joinLayers(built?.layers ?? [])
  const offered = divideTools(
    tools,
    {
      prompt: stored,
      contextLength: runtime.contextLength,
      sources: created.combined.toolSources(),
      ...(resumed?.declaredTools === undefined ? {} : { declaredBefore: resumed.declaredTools }),
    },
    services,
  )
  return {
    tools,
    offered,
    stored,
    warnings: built?.warnings ?? [],
    sent: (prompt) => withEphemeral(prompt, options, services),
    draft,
  }
}

function openJournal(
  prefix: SessionPrefix,
  {
    options,
    resources: { id, store, resumed, presence },
    services: { clock, home },
  }: { readonly options: OpenSessionOptions; readonly resources: SessionResources; readonly services: Services },
): SessionJournal {
  if ("reason" in store) return createUnsavedJournal({ id, system: prefix.sent(prefix.stored) })
  return createSessionJournal({
    store,
    session: {
      id,
      source: sourceOf(options.origin),
      startedAt: clock.now() / 1000,
      model: options.model.runtime.model,
      systemPrompt: prefix.stored,
      modelConfig: {
        [DECLARED_TOOLS]: prefix.offered.declared.map(({ name }) => name),
        ...promptMark(prefix.stored),
        ...(options.child === undefined ? {} : { _delegate_from: options.child.parent }),
      },
      ...(options.child === undefined ? {} : { parent: options.child.parent }),
      cwd: options.cwd,
    },
    resumed,
    generatesTitle: options.generateTitle === true,
    newId: () => newSessionId(clock, sessionIdKind(options.origin)),
    clock,
    partialReply: createPartialReplyFile(home),
    presence,
    rebuildPrompt: async (child) => {
      const stored = joinLayers((await prefix.draft(child)).layers)
      return { stored, sent: prefix.sent(stored) }
    },
    sentPrompt: (stored) => prefix.sent(stored),
  })
}

function openSpending(resumed: ResumedSession | undefined, { config, home }: Services): SessionSpending {
  return createSpending({
    limitUsd: config.get("model.max_session_cost_usd"),
    spentUsd: resumed?.spentUsd ?? 0,
    cacheTtl: config.get("prompt_caching.cache_ttl"),
    limitTokens: config.get("model.max_session_tokens"),
    used: resumed?.used ?? NO_USAGE,
    listedPrices: async (runtime) => {
      const { findListedModel } = await import("../../llm/catalog/model-list-cache.ts")
      return findListedModel(home, runtime)?.prices
    },
  })
}

function withEphemeral(stored: string, options: OpenSessionOptions, { environment, config }: Services): string {
  const personality = personalityOf(options, config)?.text
  return [stored, environment.get("HERMES_EPHEMERAL_SYSTEM_PROMPT"), options.ephemeralPrompt, personality]
    .filter((part) => part !== undefined && part !== "")
    .join("\n\n")
}

/** A sub-agent has none. */
function personalityOf({ personality, child }: OpenSessionOptions, config: Config): Personality | undefined {
  return child === undefined ? findPersonality(personality ?? config.get("display.personality"), config) : undefined
}

function personalityFact(options: OpenSessionOptions, config: Config): { readonly personality?: string } {
  const personality = personalityOf(options, config)
  return personality === undefined ? {} : { personality: personality.name }
}
