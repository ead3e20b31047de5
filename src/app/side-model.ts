import { errorMessage } from "../base/system-error.ts"
import type { Spending } from "../agent/spending.ts"
import type { Auxiliary, AuxiliaryCall } from "../llm/auxiliary/auxiliary.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import type { ModelRuntime } from "../llm/model.ts"
import { NO_USAGE } from "../protocol/usage.ts"
import type { Usage } from "../protocol/usage.ts"
import { chooseFrom } from "./model-sources.ts"
import type { Shared } from "./session-options.ts"
import type { SessionLog } from "./session-log.ts"
import { openModelFor } from "./session-model.ts"

/** The model for small jobs beside a conversation. Its code is loaded with the first job. */
export interface SideModel {
  call(call: AuxiliaryCall): ReturnType<Auxiliary["call"]>
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
  const bill = async (usage: Usage | undefined, runtime: ModelRuntime): Promise<void> => {
    const cost = await parts.spending.record(runtime, usage)
    await parts.log.addCall({ usage: usage ?? NO_USAGE, cost, runtime })
  }
  const open = async (): Promise<Auxiliary> => {
    const { createAuxiliary } = await import("../llm/auxiliary/auxiliary.ts")
    return createAuxiliary({
      ...shared,
      main: () => parts.main,
      choose: (wish) => chooseFrom(shared, wish),
      open: (chosen) => openModelFor(chosen, shared, { maxAttempts: 2, fallbacks: [] }),
      onUsage: (_task, usage, runtime) => {
        bill(usage, runtime).catch((error: unknown) => {
          shared.log.warning(`the cost of a side call could not be counted: ${errorMessage(error)}`)
        })
      },
    })
  }
  return {
    call: async (call) => await (await (opening ??= open())).call(call),
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
