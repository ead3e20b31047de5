import { errorMessage } from "../base/system-error.ts"
import type { Spending } from "../agent/spending.ts"
import type { Auxiliary, AuxiliaryCall } from "../llm/auxiliary/auxiliary.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import type { ModelRuntime } from "../llm/model.ts"
import type { UsageEvent } from "../protocol/events.ts"
import { NO_USAGE, promptTokens } from "../protocol/usage.ts"
import type { Usage } from "../protocol/usage.ts"
import { chooseFrom } from "./model-sources.ts"
import type { Shared } from "./session-options.ts"
import type { SessionLog } from "./session-log.ts"
import { openModelFor } from "./session-model.ts"

/** The model for small jobs beside a conversation. Its code is loaded with the first job. */
export interface SideModel {
  call(call: AuxiliaryCall): ReturnType<Auxiliary["call"]>
  /** What was used since the last time it was asked; an answer is in it as soon as its call has returned. */
  takeUsage(): readonly UsageEvent[]
  close(): void
}

export interface SideModelParts {
  /** The conversation's own model, which does the jobs nobody else is named for. */
  readonly main: ChosenModel
  readonly spending: Spending
  readonly log: Pick<SessionLog, "addCall">
}

/** What its calls cost is part of what the session costs. */
export function sideModelFor(parts: SideModelParts, shared: Shared): SideModel {
  let opening: Promise<Auxiliary> | undefined
  const used: UsageEvent[] = []
  const billing = new Set<Promise<void>>()
  const bill = async (task: string, reported: Usage | undefined, runtime: ModelRuntime): Promise<void> => {
    const usage = reported ?? NO_USAGE
    const cost = await parts.spending.record(runtime, reported)
    used.push({
      type: "usage",
      usage,
      contextTokens: promptTokens(usage) + usage.output,
      contextLength: runtime.contextLength,
      ...(cost.usd === null ? {} : { costUsd: cost.usd }),
      task,
    })
    await parts.log.addCall({ usage, cost, runtime })
  }
  const open = async (): Promise<Auxiliary> => {
    const { createAuxiliary } = await import("../llm/auxiliary/auxiliary.ts")
    return createAuxiliary({
      ...shared,
      main: () => parts.main,
      choose: (wish) => chooseFrom(shared, wish),
      open: (chosen) => openModelFor(chosen, shared, { maxAttempts: 2, fallbacks: [] }),
      onUsage: (task, usage, runtime) => {
        const done = bill(task, usage, runtime)
          .catch((error: unknown) => {
            shared.log.warning(`the cost of a side call could not be counted: ${errorMessage(error)}`)
          })
          .finally(() => billing.delete(done))
        billing.add(done)
      },
    })
  }
  return {
    call: async (call) => {
      const answer = await (await (opening ??= open())).call(call)
      await Promise.all(billing)
      return answer
    },
    takeUsage: () => (used.length === 0 ? NONE : used.splice(0)),
    close: () => {
      opening?.then(
        (auxiliary) => {
          auxiliary.close()
        },
        () => undefined,
      )
    },
  }
}

/** Asked before every event of a run. */
const NONE: readonly UsageEvent[] = []
