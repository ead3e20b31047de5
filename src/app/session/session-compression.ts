import { createCompression } from "../../agent/context/compression.ts"
import type { Compression, CompressionParts } from "../../agent/context/compression.ts"
import { createCompressor } from "../../agent/context/compressor.ts"
import type { SummaryPort } from "../../agent/context/summary/summariser.ts"
import { checkSummaryModel } from "../../agent/context/summary-model-check.ts"
import type { SummaryModelCheck } from "../../agent/context/summary-model-check.ts"
import { windowBudget } from "../../agent/context/window-budget.ts"
import { createEstimator } from "../../agent/context/token-estimate.ts"
import { digestCall } from "../../agent/context/result-digest.ts"
import type { Conversation } from "../../agent/conversation.ts"
import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"
import type { Facets } from "../../agent/facets.ts"
import { activeItems } from "../../agent/todo-list.ts"
import { lazy } from "../../base/lazy.ts"
import { errorMessage } from "../../base/system-error.ts"
import { auxiliarySettings } from "../../config/auxiliary-settings.ts"
import type { Config } from "../../config/load-config.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { Message } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { RunnableTool, ToolPorts } from "../../toolkit/tool.ts"
import { chooseModelFor } from "../services/model-sources.ts"
import type { Services } from "../services/services.ts"
import { selectedEngine } from "./selected-engine.ts"
import type { SessionJournal } from "./session-journal.ts"
import type { AuxiliaryModel } from "./auxiliary-model.ts"

export interface CompressionSource {
  readonly conversation: Conversation
  readonly journal: SessionJournal
  readonly facets: Facets
  readonly ports: ToolPorts
  readonly auxiliary: AuxiliaryModel
  readonly dispatch: DispatchSession
  /** The declared tools. */
  readonly tools: readonly ToolDefinition[]
  readonly model: ChosenModel
}

export interface SessionCompression {
  readonly compression: Compression
  /** Applies changes that other processes made to the conversation, before this one adds to it. */
  readonly catchUp: CompressionParts["catchUp"]
  /** For the user. */
  readonly warnings: readonly string[]
}

/** Creates the compression of a session, which keeps its requests within the context window of the model. */
export function createSessionCompression(source: CompressionSource, services: Services): SessionCompression {
  const { conversation, dispatch, facets, ports } = source
  const { config, clock, log, redactor } = services
  const digests = new Map<string, RunnableTool["digest"]>()
  const feasible = feasibilityOf(source.model, services)
  const estimator = createEstimator()
  const builtin = createCompressor({
    model: source.model.runtime,
    settings: settingsOf(config),
    clock,
    estimator,
    redact: (text) => redactor.redact(text),
    summarise: summaryPort(source.auxiliary, config),
    spill: async (text) => {
      const { spillText } = await import("../../agent/dispatch/bound-result.ts")
      return await spillText(text, dispatch)
    },
    digest: (call) => digestCall(call, digests.get(call.tool)),
    newestResultOnly: (tool) => dispatch.tools.get(tool)?.newestResultOnly === true,
    ...(feasible.thresholdCap === undefined ? {} : { thresholdCap: feasible.thresholdCap }),
  })
  const { engine, warning } = selectedEngine(builtin, source.model, services)
  const catchUp: CompressionParts["catchUp"] = async function* (turn) {
    const stored = await source.journal.catchUp(turn)
    if (stored === undefined) return false
    const { adoptStored } = await import("./catch-up.ts")
    yield* adoptStored(stored, { conversation, facets })
    return true
  }
  const windowFloor = lazy(async () => {
    const { createMinimumWindowCheck } = await import("../../agent/context/minimum-window.ts")
    return createMinimumWindowCheck({ enforced: config.get("agent.enforce_min_context") })
  })
  const compression = createCompression({
    engine,
    enabled: config.get("compression.enabled"),
    conversation,
    estimator,
    tools: source.tools,
    clock,
    todo: () => activeItems(ports.todo?.read() ?? []),
    prepare: (history) => loadDigests(history, { digests, dispatch }),
    beforeRemoval: (messages, layer, signal) => facets.beforeCompression({ messages, layer, signal }),
    catchUp,
    onRotated: (sessions) => {
      facets.rotated(sessions)
    },
    enforceMinimumWindow: config.get("agent.enforce_min_context"),
    minimumWindow: windowFloor,
    reportFault: (fault) => {
      log.error(fault)
    },
  })
  return { compression, catchUp, warnings: [feasible.warning, warning].filter((text) => text !== undefined) }
}

/** Checks that the window of a configured summary model is large enough for what it will have to read. */
function feasibilityOf({ runtime }: ChosenModel, services: Services): SummaryModelCheck {
  const { provider, model, baseUrl, contextLength } = auxiliarySettings(services.config, "compression")
  if (model === "" && baseUrl === "" && contextLength === null) return {}
  const chosen = contextLength === null ? chooseModelFor(services, { provider, model }) : undefined
  return checkSummaryModel({
    thresholdTokens: windowBudget(runtime, settingsOf(services.config)).threshold,
    contextLength: runtime.contextLength,
    summaryModel: model === "" ? runtime.model : model,
    summaryContextLength: contextLength ?? (chosen?.ok === true ? chosen.value.runtime.contextLength : undefined),
  })
}

function settingsOf(config: Config): Parameters<typeof createCompressor>[0]["settings"] {
  return {
    threshold: config.get("compression.threshold"),
    strategy: config.get("compression.strategy"),
    pipelineHeadroom: config.get("compression.pipeline_headroom"),
    targetRatio: config.get("compression.target_ratio"),
    protectFirstN: config.get("compression.protect_first_n"),
    protectLastN: config.get("compression.protect_last_n"),
    budgetReduceLimit: config.get("compression.budget_reduce_limit"),
    snipStaleAfter: config.get("compression.snip_stale_after"),
    hardTruncateMaxLoss: config.get("compression.hard_truncate_max_loss"),
    planPriority: config.get("compression.plan_compression_priority"),
    abortOnSummaryFailure: config.get("compression.abort_on_summary_failure"),
    codexAutoraise: config.get("compression.codex_gpt55_autoraise"),
  }
}

/** When the configured summary model fails, the conversation's model writes the summary instead. */
function summaryPort(auxiliary: AuxiliaryModel, config: Config): SummaryPort {
  return async ({ system, prompt, maxTokens, signal }) => {
    const messages: readonly Message[] = [{ role: "user", content: prompt }]
    const call = { task: "compression", system, messages, maxTokens, signal }
    const first = await auxiliary.call(call)
    const again = !first.ok && !signal.aborted && hasOwnSummaryModel(config)
    const reply = again ? await auxiliary.call({ ...call, override: MAIN_MODEL }) : first
    if (signal.aborted) return { kind: "aborted" }
    if (reply.ok) {
      const usedMain = again || reply.value.warning !== undefined
      return { kind: "text", text: reply.value.text, ...(usedMain ? { usedMain } : {}) }
    }
    const { kind, message } = reply.error
    return { kind: "failed", message, noProvider: kind === "no-provider", malformed: false }
  }
}

const MAIN_MODEL = { provider: "main", model: "", baseUrl: "", apiKey: "", apiMode: "" }

function hasOwnSummaryModel(config: Config): boolean {
  const { provider, model, baseUrl } = auxiliarySettings(config, "compression")
  const named = provider.trim().toLowerCase()
  return named !== "none" && (model !== "" || baseUrl !== "" || !["", "auto", "main"].includes(named))
}

/** Loads the digest functions of the tools in the history; compression uses them to shorten old results. */
async function loadDigests(
  history: readonly Message[],
  parts: {
    readonly digests: Map<string, RunnableTool["digest"]>
    readonly dispatch: DispatchSession
  },
): Promise<void> {
  const used = new Set(history.flatMap((message) => (message.role === "tool" ? [message.tool_name] : [])))
  for (const name of used) {
    if (parts.digests.has(name)) continue
    try {
      parts.digests.set(name, (await parts.dispatch.tools.get(name)?.load())?.digest)
    } catch (error) {
      // A tool that is no longer available gets the general digest.
      parts.dispatch.log?.debug(`${name} could not be loaded: ${errorMessage(error)}`)
      parts.digests.set(name, undefined)
    }
  }
}
