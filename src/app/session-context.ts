import { createCompression } from "../agent/context/compression.ts"
import type { Compression } from "../agent/context/compression.ts"
import { createCompressor } from "../agent/context/compressor.ts"
import type { SummaryPort } from "../agent/context/summary/summariser.ts"
import { checkFeasibility } from "../agent/context/feasibility.ts"
import type { Feasibility } from "../agent/context/feasibility.ts"
import { windowBudget } from "../agent/context/window-budget.ts"
import type { WindowFloor } from "../agent/context/window-floor.ts"
import { createEstimator } from "../agent/context/estimate.ts"
import { generalDigest } from "../agent/context/result-digest.ts"
import type { Conversation } from "../agent/conversation.ts"
import type { Steps } from "../agent/turn.ts"
import { errorMessage } from "../base/system-error.ts"
import { auxiliarySettings } from "../config/auxiliary.ts"
import type { Config } from "../config/load.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import type { Message } from "../protocol/message.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { RunnableTool } from "../toolkit/tool.ts"
import { chooseFrom } from "./model-sources.ts"
import type { OpenSessionOptions, Shared } from "./session-options.ts"
import type { SessionParts } from "./session-parts.ts"
import type { SessionCompanions } from "./session-companions.ts"
import type { SessionFiles } from "./session-files.ts"
import type { SessionKnowledge } from "./session-knowledge.ts"
import type { SessionLog } from "./session-log.ts"
import type { Presence } from "./session-presence.ts"
import type { SideModel } from "./side-model.ts"

export interface ContextRequest {
  readonly conversation: Conversation
  readonly knowledge: SessionKnowledge
  readonly files: SessionFiles
  readonly presence: Presence
  readonly companions: SessionCompanions
  readonly side: SideModel
  readonly log: SessionLog
  readonly dispatch: SessionParts["dispatch"]
  readonly tools: readonly ToolDefinition[]
  readonly options: OpenSessionOptions
}

/** How this session keeps within the window of its model, and what the person should know about it. */
export function compressionFor(
  request: ContextRequest,
  shared: Shared,
): {
  readonly compression: Compression
  readonly catchUp: SessionParts["catchUp"]
  readonly warnings: readonly string[]
} {
  const { conversation, knowledge, companions, dispatch } = request
  const { config, clock, redactor } = shared
  const digests = new Map<string, RunnableTool["digest"]>()
  if (config.get("context.engine") !== "compressor") {
    shared.log.warning(`there is no context engine "${config.get("context.engine")}"; the built-in one is used`)
  }
  const feasible = feasibilityOf(request.options.model, shared)
  const estimator = createEstimator()
  const engine = createCompressor({
    model: request.options.model.runtime,
    settings: settingsOf(config),
    clock,
    estimator,
    redact: (text) => redactor.redact(text),
    summarise: summaryPort(request.side, config),
    spill: async (text, callId) => {
      const { spillText } = await import("../agent/dispatch/bound-result.ts")
      return await spillText(text, callId, dispatch)
    },
    digest: (call) => digests.get(call.tool)?.(call) ?? generalDigest(call),
    ...(feasible.thresholdCap === undefined ? {} : { thresholdCap: feasible.thresholdCap }),
  })
  const onRotated = (sessions: Rotated): void => {
    companions.rotated(sessions)
    request.presence.follow(sessions.to)
    request.files.tracker.forget()
  }
  const catchUp = async function* (question: Message | undefined): Steps<boolean> {
    const news = await request.log.catchUp()
    if (news === undefined) return false
    const { takeOver } = await import("./session-catch-up.ts")
    const onMessages = (): void => {
      knowledge.todo.hydrate(conversation.history)
    }
    yield* takeOver(news, { conversation, question, onRotated, onMessages })
    return true
  }
  const compression = createCompression({
    engine,
    enabled: config.get("compression.enabled"),
    conversation,
    journal: request.log,
    estimator,
    tools: request.tools,
    clock,
    todo: () => knowledge.todo.active(),
    prepare: (history) => loadDigests(history, { digests, dispatch }),
    beforeLoss: (doomed, layer, signal) => companions.beforeLoss(doomed, layer, signal),
    catchUp,
    onRotated,
    enforceFloor: config.get("agent.enforce_min_context"),
    floor: lateFloor(config.get("agent.enforce_min_context")),
    report: (fault) => {
      shared.log.error(fault)
    },
  })
  return {
    compression,
    catchUp,
    warnings: feasible.warning === undefined ? [] : [feasible.warning],
  }
}

type Rotated = Parameters<Parameters<typeof createCompression>[0]["onRotated"]>[0]

/** Most sessions talk to no Ollama and never load it. */
function lateFloor(enforced: boolean): () => Promise<WindowFloor> {
  let opening: Promise<WindowFloor> | undefined
  const open = async (): Promise<WindowFloor> => {
    const { createWindowFloor } = await import("../agent/context/window-floor.ts")
    return createWindowFloor({ enforced })
  }
  return () => (opening ??= open())
}

/** A model that is named for summaries must be able to read what it is to summarise. */
function feasibilityOf({ runtime }: ChosenModel, shared: Shared): Feasibility {
  const { provider, model, baseUrl, contextLength } = auxiliarySettings(shared.config, "compression")
  if (model === "" && baseUrl === "" && contextLength === null) return {}
  const chosen = contextLength === null ? chooseFrom(shared, { provider, model }) : undefined
  return checkFeasibility({
    thresholdTokens: windowBudget(runtime, settingsOf(shared.config)).threshold,
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

/** A model that is set up for summaries and fails, for whatever reason, is replaced at once by the conversation's own. */
function summaryPort(side: SideModel, config: Config): SummaryPort {
  return async ({ system, prompt, maxTokens, signal }) => {
    const messages: readonly Message[] = [{ role: "user", content: prompt }]
    const call = { task: "compression", system, messages, maxTokens, signal }
    const first = await side.call(call)
    const again = !first.ok && !signal.aborted && hasModelOfItsOwn(config)
    const answer = again ? await side.call({ ...call, override: MAIN_MODEL }) : first
    if (signal.aborted) return { kind: "aborted" }
    if (answer.ok) {
      const usedMain = again || answer.value.warning !== undefined
      return { kind: "text", text: answer.value.text, ...(usedMain ? { usedMain } : {}) }
    }
    const { kind, message } = answer.error
    return { kind: "failed", message, noProvider: kind === "no-provider", malformed: false }
  }
}

const MAIN_MODEL = { provider: "main", model: "", baseUrl: "", apiKey: "", apiMode: "" }

function hasModelOfItsOwn(config: Config): boolean {
  const { provider, model, baseUrl } = auxiliarySettings(config, "compression")
  const named = provider.trim().toLowerCase()
  return named !== "none" && (model !== "" || baseUrl !== "" || !["", "auto", "main"].includes(named))
}

/** A tool says itself what remains of its old results; its code is loaded when the first of them is shortened. */
async function loadDigests(
  history: readonly Message[],
  parts: {
    readonly digests: Map<string, RunnableTool["digest"]>
    readonly dispatch: SessionParts["dispatch"]
  },
): Promise<void> {
  const used = new Set(history.flatMap((message) => (message.role === "tool" ? [message.tool_name] : [])))
  for (const name of used) {
    if (parts.digests.has(name)) continue
    try {
      parts.digests.set(name, (await parts.dispatch.tools.get(name)?.load())?.digest)
    } catch (error) {
      // A tool that cannot be loaded any more is described in general words.
      parts.dispatch.log?.debug(`${name} could not be loaded: ${errorMessage(error)}`)
      parts.digests.set(name, undefined)
    }
  }
}
