import type { CallToolPort } from "../../toolkit/ports/call-tool.ts"
import type { ScriptSettings } from "../../toolkit/tool.ts"
import type { Language } from "./languages.ts"
import type { ScriptCalls } from "./script-calls.ts"

/** A script that is about to run. */
export interface ScriptRun {
  readonly code: string
  readonly language: Language
  readonly seconds: number
  readonly settings: ScriptSettings
  readonly calls: ScriptCalls
  readonly port: Pick<CallToolPort, "tools" | "onUserWait">
}
