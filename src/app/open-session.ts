import { ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { Conversation } from "../agent/conversation.ts"
import { joinLayers } from "../agent/prompt/build-prompt.ts"
import type { Spending } from "../agent/spending.ts"
import type { Environment } from "../config/environment.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import { NO_USAGE } from "../protocol/usage.ts"
import type { NewSession } from "../state/store.ts"
import type { ToolEntry } from "../toolkit/tool.ts"
import { lateDescriber } from "./late-describer.ts"
import { openingWarnings, untoldPlace } from "./opening-words.ts"
import { dumpingRequests } from "./request-dump.ts"
import { createSession } from "./session.ts"
import type { Session } from "./session.ts"
import { companionsFor } from "./companions-for.ts"
import { compressionFor } from "./session-context.ts"
import { dispatchFor } from "./session-dispatch.ts"
import { openFiles } from "./session-files.ts"
import { openGround } from "./session-ground.ts"
import { openKnowledge } from "./session-knowledge.ts"
import { createSessionLog, createUnsavedLog } from "./session-log.ts"
import { openModelFor, samplingFor } from "./session-model.ts"
import type { OpenSessionOptions, Shared } from "./session-options.ts"
import { DECLARED_TOOLS } from "./session-past.ts"
import type { Past } from "./session-past.ts"
import { providerTools } from "./provider-tools.ts"
import { createPresence } from "./session-presence.ts"
import { portsFor } from "./session-ports.ts"
import { layersFor } from "./session-prompt.ts"
import type { PromptDraft } from "./session-prompt.ts"
import { openProvider } from "./session-provider.ts"
import { createSpending } from "./session-spending.ts"
import { divideTools, searchFor, takeTools } from "./session-tools.ts"
import { sideModelFor } from "./side-model.ts"

/** Puts a session together: its model, history, prompt, tools and place to work. */
export async function openSession(options: OpenSessionOptions, shared: Shared): Promise<Result<Session>> {
  const { clock, config, redactor } = shared
  const images = lateDescriber(shared)
  const ground = await openGround(options, images, shared)
  if (!ground.ok) return ground
  const { id, store, past, workspace } = ground.value
  const own = await takeTools(options.toolsets, shared)
  const provider = await openProvider({ id, options, tools: own }, shared)
  // What an external memory brings belongs to the memory toolset: without that it is not offered.
  const more = provider !== undefined && own.some(({ name }) => name === "memory") ? providerTools(provider) : []
  const tools = withProviderTools(own, more)
  const knowledge = openKnowledge({ workspace, onMemoryWrite: (write) => provider?.onMemoryWrite(write) }, shared)
  const draft = async (sessionId: SessionId): Promise<PromptDraft> =>
    await layersFor(
      {
        platform: options.platform,
        runtime: options.model.runtime,
        tools,
        workspace,
        sessionId: options.passSessionId === true ? sessionId : undefined,
        memory: knowledge.memory.snapshot(),
        externalMemory: provider?.promptBlock() ?? "",
        learnings: await knowledge.topLearnings(),
        ...(options.aboutPlace === undefined ? {} : { aboutPlace: options.aboutPlace }),
      },
      shared,
    )
  const prompt = await promptOf(past, () => draft(id))
  const offered = divideTools(
    tools,
    {
      prompt: prompt.stored,
      contextLength: options.model.runtime.contextLength,
      ...(past?.declaredTools === undefined ? {} : { declaredBefore: past.declaredTools }),
    },
    shared,
  )
  const sent = (stored: string): string => withEphemeral(stored, options, shared.environment)
  const conversation = new Conversation({
    id,
    system: sent(prompt.stored),
    history: [...(past?.messages.keys() ?? [])],
  })
  knowledge.todo.hydrate(conversation.history)
  const session: NewSession = {
    id,
    source: options.source,
    startedAt: clock.now() / 1000,
    model: options.model.runtime.model,
    systemPrompt: prompt.stored,
    modelConfig: { [DECLARED_TOOLS]: offered.declared.map(({ name }) => name) },
    cwd: options.cwd,
  }
  const log =
    "reason" in store
      ? createUnsavedLog(conversation)
      : createSessionLog({
          store,
          session,
          past,
          retitles: options.generateTitle === true,
          clock,
          rebuildPrompt: async (child) => {
            const stored = joinLayers((await draft(child)).layers)
            return { stored, sent: sent(stored) }
          },
          sentPrompt: sent,
        })
  const spending = spendingFor(past, shared)
  const presence = createPresence(shared.home, id)
  const files = openFiles({ taskId: id, workspace, conversation, options, todo: () => knowledge.todo.read() }, shared)
  const ports = portsFor({ conversation, knowledge, store, files, deferredTools: searchFor(offered, shared) }, shared)
  const dispatch = dispatchFor(
    { taskId: id, conversation, tools, more, workspace, knowledge, files, presence, ports, options },
    shared,
  )
  const side = sideModelFor({ main: options.model, spending, log }, shared)
  images.askThrough(side)
  shared.prewarm.start(options.model)
  const sampling = samplingFor(id, shared)
  const redact = (text: string, how?: { readonly codeFile?: boolean }): string => redactor.redact(text, how)
  const companions = companionsFor(
    { conversation, knowledge, files, provider, side, log, spending, sampling, dispatch, tools, redact, options },
    shared,
  )
  // A run that nobody attends shows itself with its first call: before that there is nothing to disturb.
  if (options.attended) presence.show()
  const context = compressionFor(
    { conversation, knowledge, files, presence, companions, side, log, dispatch, tools: offered.declared, options },
    shared,
  )
  return ok(
    createSession({
      clock,
      model: shared.environment.truthy("HERMES_DUMP_REQUESTS")
        ? dumpingRequests(ground.value.model, { ...shared, sessionId: id })
        : ground.value.model,
      conversation,
      diagnostics: shared.log,
      tools: offered.declared,
      log,
      compression: context.compression,
      catchUp: context.catchUp,
      dispatch,
      maxIterations: options.maxIterations ?? config.get("agent.max_turns"),
      budgetPressure: config.get("agent.budget_pressure") === "legacy",
      footers: {
        failedWrites: config.get("display.file_mutation_verifier"),
        explainEnd: config.get("display.turn_completion_explainer"),
      },
      sampling,
      spending,
      redact,
      maskStream: () => redactor.stream(),
      facts: {
        model: options.model.runtime.model,
        provider: options.model.runtime.provider,
        cwd: options.cwd,
        permissionProfile: options.permissionProfile,
        toolsets: options.toolsets ?? config.get("toolsets"),
        tools: tools.map(({ name }) => name),
        resumed: past !== undefined,
        messages: conversation.history.length,
        ...("reason" in store ? { unsaved: store.reason } : {}),
      },
      openingWarnings: [...prompt.warnings, ...context.warnings, ...openingWarnings(past)],
      openingNote: untoldPlace(options.aboutPlace, past),
      todo: () => knowledge.todo.read(),
      checkpoints: () => files.checkpoints(),
      takeRewind: () => files.takeRewind(),
      background: {
        take: () => shared.processes.takeNotice(id),
        waitForOne: (signal) => shared.processes.waitForNotice(id, signal),
      },
      companions,
      takeSideUsage: () => side.takeUsage(),
      openModel: (chosen) => openModelFor(chosen, shared, { images }),
      release: async () => {
        side.close()
        presence.leave()
        await ground.value.release()
      },
    }),
  )
}

function spendingFor(past: Past | undefined, { config, home }: Shared): Spending {
  return createSpending({
    limitUsd: config.get("model.max_session_cost_usd"),
    spentUsd: past?.spentUsd ?? 0,
    cacheTtl: config.get("prompt_caching.cache_ttl"),
    limitTokens: config.get("model.max_session_tokens"),
    used: past?.used ?? NO_USAGE,
    listedPrices: async (runtime) => {
      const { findListedModel } = await import("../llm/catalog/list-cache.ts")
      return findListedModel(home, runtime)?.prices
    },
  })
}

/** Sorted by name, as every list of tools is. */
function withProviderTools(own: readonly ToolDefinition[], more: readonly ToolEntry[]): readonly ToolDefinition[] {
  const added = more.map(({ name, description, parameters }) => ({ name, description, parameters }))
  return added.length === 0 ? own : [...own, ...added].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** A stored prompt is used byte for byte (law 3), whatever has changed since. */
async function promptOf(
  past: Past | undefined,
  build: () => Promise<PromptDraft>,
): Promise<{ readonly stored: string; readonly warnings: readonly string[] }> {
  if (past?.system !== undefined) return { stored: past.system, warnings: [] }
  const { layers, warnings } = await build()
  return { stored: joinLayers(layers), warnings }
}

/** What holds for this process only is sent, never stored. */
function withEphemeral(stored: string, options: OpenSessionOptions, environment: Environment): string {
  return [stored, environment.get("HERMES_EPHEMERAL_SYSTEM_PROMPT"), options.ephemeralPrompt]
    .filter((part) => part !== undefined && part !== "")
    .join("\n\n")
}
