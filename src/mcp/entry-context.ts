import type { CallScope } from "./client/call-scope.ts"

/** What the tools of one session need besides their server. */
export interface EntryContext {
  readonly scope: CallScope
  /** Where images and sounds in results are saved. */
  readonly mediaDirectory: string
}
