/** When hooks are called. `decides`: what the callback returns has an effect; the others only observe. */
export const HOOK_EVENTS = {
  pre_tool_call: { decides: true, ofTool: true },
  post_tool_call: { decides: false, ofTool: true },
  transform_tool_result: { decides: true, ofTool: true },
  transform_terminal_output: { decides: true, ofTool: false },
  pre_llm_call: { decides: true, ofTool: false },
  post_llm_call: { decides: false, ofTool: false },
  pre_api_request: { decides: false, ofTool: false },
  post_api_request: { decides: false, ofTool: false },
  api_request_error: { decides: false, ofTool: false },
  transform_llm_output: { decides: true, ofTool: false },
  on_session_start: { decides: false, ofTool: false },
  on_session_end: { decides: false, ofTool: false },
  on_session_finalize: { decides: false, ofTool: false },
  on_session_reset: { decides: false, ofTool: false },
  subagent_start: { decides: false, ofTool: false },
  subagent_stop: { decides: false, ofTool: false },
  pre_approval_request: { decides: false, ofTool: false },
  post_approval_response: { decides: false, ofTool: false },
  permission_profile_changed: { decides: false, ofTool: false },
  pre_gateway_dispatch: { decides: true, ofTool: false },
} as const satisfies Readonly<Record<string, HookEventRules>>

interface HookEventRules {
  readonly decides: boolean
  readonly ofTool: boolean
}

export type HookEvent = keyof typeof HOOK_EVENTS

/** Events that this release never emits, because nothing that causes them exists. */
export const SILENT_EVENTS: ReadonlySet<string> = new Set(["pre_gateway_dispatch"])

/** The payload of every event has `schema`, and `session_id`, `task_id` and `turn_id` where they are known. Fields may be added. */
export type HookPayload = Readonly<Record<string, unknown>>

/**
 * `pre_tool_call`: `{ action: "block", message }` refuses the call. `pre_llm_call`: a string or `{ context }` is sent with the user's
 * message. The `transform_…` events: a string replaces the text. Everything else is ignored: a hook can refuse, never allow.
 */
export type HookCallback = (payload: HookPayload) => unknown

export function isHookEvent(name: string): name is HookEvent {
  return Object.hasOwn(HOOK_EVENTS, name)
}

export const HOOK_SCHEMA = "hermes.observer.v1"
