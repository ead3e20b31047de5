import type { Result } from "../../base/result.ts"
import type { CompletedCall } from "./conversation.ts"

/** How the demo handles one user message. The same message results in the same plan at every step of the turn. */
export type Plan =
  | { readonly kind: "reply"; readonly text: string }
  | {
      readonly kind: "run"
      readonly steps: readonly Step[]
      /** The text after the results. */
      readonly closing?: string
      /** The tour continues after a failed or denied step; other plans stop. */
      readonly onFailure: "stop" | "continue"
    }

export interface Step {
  /** In order of preference; the first option whose tool is available is used. */
  readonly toolOptions: readonly [ToolOption, ...ToolOption[]]
  /** The text before the call. */
  readonly say: string
  /** A noun phrase for "Not completed: …". */
  readonly title: string
}

export interface ToolOption {
  readonly tool: string
  /** A function when the arguments depend on earlier results of the turn; its failure is shown to the user. */
  readonly args: Arguments | ((completed: readonly CompletedCall[]) => Result<Arguments>)
}

type Arguments = Readonly<Record<string, unknown>>
