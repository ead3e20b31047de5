import { hasSpilled, removeOldResults } from "../agent/dispatch/result-retention.ts"
import type { Conversation } from "../agent/conversation.ts"
import type { Spending } from "../agent/spending.ts"
import type { Turn } from "../agent/turn.ts"
import type { ProviderHost } from "../knowledge/memory/provider-host.ts"
import type { Sampling } from "../llm/model.ts"
import { contentText } from "../protocol/message.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { ReviewParts } from "./background-review.ts"
import type { OpenSessionOptions, Shared } from "./session-options.ts"
import type { SessionParts } from "./session-parts.ts"
import { createCompanions } from "./session-companions.ts"
import type { EndedTurn, SessionCompanions } from "./session-companions.ts"
import type { SessionFiles } from "./session-files.ts"
import type { SessionKnowledge } from "./session-knowledge.ts"
import type { SessionLog } from "./session-log.ts"
import { openModelFor } from "./session-model.ts"
import type { SideModel } from "./side-model.ts"

export interface CompanionRequest {
  readonly conversation: Conversation
  readonly knowledge: SessionKnowledge
  readonly files: SessionFiles
  readonly provider: ProviderHost | undefined
  readonly side: SideModel
  readonly log: SessionLog
  readonly spending: Spending
  readonly sampling: Sampling
  readonly dispatch: SessionParts["dispatch"]
  readonly tools: readonly ToolDefinition[]
  readonly redact: Turn["redact"]
  readonly options: OpenSessionOptions
}

/** Titles, reviews, memory and records of this session, as its settings want them. */
export function companionsFor(request: CompanionRequest, shared: Shared): SessionCompanions {
  const { conversation, knowledge, provider, side, log, tools, options } = request
  const { config, clock } = shared
  const reviewing: ReviewParts = {
    ...request,
    clock,
    openModel: () => openModelFor(options.model, shared, { maxAttempts: 2, fallbacks: [] }),
    addCall: (call) => log.addCall(call),
  }
  const interval = config.get("memory.nudge_interval")
  const flushes = config.get("memory.flush_before_compress")
  let turns = turnsOf(conversation)
  let flushedAt = turns
  return createCompanions({
    log: shared.log,
    provider,
    platform: options.platform,
    toolCount: tools.length,
    contextLength: () => options.model.runtime.contextLength,
    resumed: options.resume !== undefined,
    ...(options.generateTitle === true
      ? {
          makeTitle: async (exchange, signal) => {
            const { titleFor } = await import("./session-title.ts")
            return await titleFor(exchange, side, signal)
          },
        }
      : {}),
    retitle: (title) => log.retitle(title),
    ...(interval === 0 || !tools.some(({ name }) => name === "memory")
      ? {}
      : {
          review: async (turn, signal) => {
            if (turns % interval !== 0) return
            const { lookBack } = await import("./background-review.ts")
            await lookBack(turn, reviewing, signal)
          },
        }),
    ...(options.saveTrajectories === undefined
      ? {}
      : { saveTrajectory: trajectorySaver(options.saveTrajectories, request, shared) }),
    flushMemory: async (doomed, signal) => {
      if (flushes === "off" || flushes === "local") return
      if (turns - flushedAt < config.get("memory.flush_min_turns")) return
      flushedAt = turns
      const { flushMemory } = await import("./background-review.ts")
      await flushMemory(doomed, { ...reviewing, side }, signal)
    },
    memorySettled: () => knowledge.memory.settled(),
    beforeTurn: async (history) => {
      turns += 1
      knowledge.todo.hydrate(history)
      knowledge.beginTurn()
      return (await request.files.beginTurn()) ?? ""
    },
    tidyUp: async () => {
      await knowledge.close()
      await request.files.close()
      const { workspace } = request.dispatch
      // Elsewhere every look at a file is a journey, and the place has its own way with temporary files.
      if (workspace.kind !== "local" || !hasSpilled(conversation.history)) return
      const removed = await removeOldResults(workspace.files, clock.now())
      if (removed > 0) shared.log.info(`${removed} old result files were removed`)
    },
  })
}

/** How often the person has spoken. */
function turnsOf({ history }: Conversation): number {
  return history.filter((message) => message.role === "user" && message.synthetic === undefined).length
}

function trajectorySaver(
  directory: string,
  { tools }: CompanionRequest,
  { clock, log }: Shared,
): (turn: EndedTurn) => Promise<void> {
  return async ({ input, end }) => {
    const { appendTrajectory, toTrajectory } = await import("../agent/trajectory.ts")
    const { result, outcome } = end
    const saved = await appendTrajectory(
      directory,
      toTrajectory({
        messages: result.messages,
        tools,
        userQuery: contentText(input),
        model: result.model,
        completed: outcome === "completed",
        now: clock.now(),
      }),
    )
    if (!saved.ok) log.warning(saved.error)
  }
}
