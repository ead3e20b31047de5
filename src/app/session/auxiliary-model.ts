import { lazy } from "../../base/lazy.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { BilledCall } from "../../agent/journal.ts"
import type { Auxiliary, AuxiliaryCall } from "../../llm/auxiliary/auxiliary.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { ModelRuntime } from "../../llm/model.ts"
import type { UsageEvent } from "../../protocol/events.ts"
import { NO_USAGE, promptTokens } from "../../protocol/usage.ts"
import type { Usage } from "../../protocol/usage.ts"
import { chooseModelFor } from "../services/model-sources.ts"
import type { Services } from "../services/services.ts"
import { openModelClient } from "../services/model-client.ts"
import type { SessionSpending } from "./session-spending.ts"

/** The model for the auxiliary tasks of a conversation: titles, summaries, image descriptions. Loaded on first use. */
export interface AuxiliaryModel {
  call(call: AuxiliaryCall): ReturnType<Auxiliary["call"]>
  /** Reports and stores a call that was made elsewhere for an auxiliary task; `Spending` has counted its cost already. */
  recordCall(task: string, call: BilledCall): Promise<void>
  /** The usage since the last call of this method; that of a task is included once its `call` has returned. */
  takeUsage(): readonly UsageEvent[]
  close(): void
}

export interface AuxiliaryModelParts {
  /** The model of the conversation; it does the tasks for which the settings name no other. */
  readonly main: ChosenModel
  readonly spending: SessionSpending
  /** Adds the cost to the session's totals. */
  readonly addCall: (call: BilledCall) => Promise<void>
}

export function createAuxiliaryModel(parts: AuxiliaryModelParts, services: Services): AuxiliaryModel {
  const used: UsageEvent[] = []
  const billing = new Set<Promise<void>>()
  const recordCall = async (task: string, call: BilledCall): Promise<void> => {
    const { usage, cost, runtime } = call
    used.push({
      type: "usage",
      usage,
      contextTokens: promptTokens(usage) + usage.output,
      contextLength: runtime.contextLength,
      ...(cost.usd === null ? {} : { costUsd: cost.usd }),
      task,
    })
    await parts.addCall(call)
  }
  const bill = async (task: string, reported: Usage | undefined, runtime: ModelRuntime): Promise<void> => {
    const usage = reported ?? NO_USAGE
    const cost = await parts.spending.recordAuxiliary(runtime, reported)
    await recordCall(task, { usage, cost, runtime })
  }
  const auxiliary = lazy(async () => {
    const { createAuxiliary } = await import("../../llm/auxiliary/auxiliary.ts")
    return createAuxiliary({
      ...services,
      main: () => parts.main,
      choose: (selection) => chooseModelFor(services, selection),
      open: (chosen) => openModelClient(chosen, services, { maxAttempts: 2, fallbacks: [] }),
      onUsage: (task, usage, runtime) => {
        const done = bill(task, usage, runtime)
          .catch((error: unknown) => {
            services.log.warning(`the cost of an auxiliary call could not be recorded: ${errorMessage(error)}`)
          })
          .finally(() => billing.delete(done))
        billing.add(done)
      },
    })
  })
  return {
    call: async (call) => {
      const reply = await (await auxiliary()).call(call)
      await Promise.all(billing)
      return reply
    },
    recordCall,
    takeUsage: () => (used.length === 0 ? NONE : used.splice(0)),
    close: () => {
      auxiliary.peek()?.then(
        (opened) => {
          opened.close()
        },
        () => undefined,
      )
    },
  }
}

/** Shared, because `takeUsage` is called before every event of a run. */
const NONE: readonly UsageEvent[] = []
