import type { Result } from "../../base/result.ts"
import type { DoneCall } from "./conversation.ts"

/** What the demo does about one message of the person. The same message gives the same plan at every step of the turn. */
export type Plan =
  | { readonly kind: "say"; readonly text: string }
  | {
      readonly kind: "act"
      readonly steps: readonly Step[]
      /** Said after the results. */
      readonly closing?: string
      /** A tour goes on after a step that failed or was not allowed; other plans stop there. */
      readonly onFailure: "stop" | "go-on"
    }

export interface Step {
  /** In order of preference; the first tool that is offered is called. */
  readonly ways: readonly [Way, ...Way[]]
  /** The line spoken before the call. */
  readonly say: string
  /** What it does, as a noun phrase, for "not done: …". */
  readonly title: string
}

export interface Way {
  readonly tool: string
  /** A function when the arguments follow from earlier results of the turn; its failure is told to the person. */
  readonly args: Arguments | ((done: readonly DoneCall[]) => Result<Arguments>)
}

type Arguments = Readonly<Record<string, unknown>>
