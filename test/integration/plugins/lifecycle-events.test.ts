import { expect, test } from "vitest"

import { callsTool, refuses, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { delegatingModel } from "../delegation/delegating-model.ts"
import { EVENTS, RECORDER, recordedEvents } from "./recording-plugin.ts"

const text = expect.any(String)
const number = expect.any(Number)
const CALL = { tool_name: "terminal", args: { command: "echo hi" }, tool_call_id: "call_echo" }
const ENDED_CALL = {
  ...CALL,
  result: expect.stringContaining("hi"),
  duration_ms: number,
  status: "ok",
  error_type: null,
}
const REQUEST = {
  model: "test-model",
  provider: text,
  base_url: text,
  api_mode: "chat_completions",
  message_count: number,
  tool_count: number,
  approx_input_tokens: number,
  max_tokens: null,
  started_at: number,
  api_request_id: text,
}
const QUESTION = {
  command: "rm -r build",
  description: text,
  pattern_key: "recursive delete",
  pattern_keys: ["recursive delete"],
  session_key: text,
  surface: "cli",
}

/** The payload of each event beyond `schema`, `session_id`, `task_id` and `turn_id`. */
const PAYLOADS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  pre_tool_call: CALL,
  post_tool_call: ENDED_CALL,
  transform_tool_result: ENDED_CALL,
  transform_terminal_output: { command: "echo hi", output: "hi\n", exit_code: 0, cwd: text, env_type: "local" },
  pre_llm_call: {
    user_message: "go",
    conversation_history: [],
    is_first_turn: true,
    model: "test-model",
    platform: "cli",
    sender_id: "",
  },
  post_llm_call: {
    user_message: "go",
    assistant_response: "Done.",
    conversation_history: expect.arrayContaining([expect.objectContaining({ role: "user" })]),
    model: "test-model",
    platform: "cli",
  },
  pre_api_request: { ...REQUEST, request: expect.stringContaining("go") },
  post_api_request: {
    ...REQUEST,
    api_duration: number,
    finish_reason: "tool_calls",
    usage: expect.objectContaining({ input: number }),
    response_model: "test-model",
    assistant_tool_call_count: 1,
  },
  api_request_error: { ...REQUEST, status: 401, reason: text, retryable: false, retry_count: 0, error: text },
  transform_llm_output: { response_text: "Done." },
  on_session_start: { model: "test-model", platform: "cli" },
  on_session_end: { completed: true, interrupted: false, model: "test-model", platform: "cli", reason: text },
  on_session_finalize: { platform: "cli", reason: "session_switch", old_session_id: text, new_session_id: text },
  on_session_reset: { platform: "cli", reason: "session_switch", old_session_id: text, new_session_id: text },
  subagent_start: { parent_session_id: text, child_session_id: text, child_role: "leaf", goal: "Look around" },
  subagent_stop: {
    parent_session_id: text,
    child_session_id: text,
    child_role: "leaf",
    child_summary: "Nothing there.",
    child_status: "completed",
    duration_ms: number,
  },
  pre_approval_request: QUESTION,
  post_approval_response: { ...QUESTION, choice: "deny" },
  permission_profile_changed: { old: "default", new: "plan", by: text },
}

test("every event reaches a plugin with its payload, in the order in which things happen", async () => {
  expect(Object.keys(PAYLOADS).toSorted()).toEqual(EVENTS.toSorted())
  const model = delegatingModel({
    "": [
      callsTool("terminal", { command: "echo hi" }, { id: "call_echo" }),
      callsTool("terminal", { command: "rm -r build" }, { id: "call_rm" }),
      callsTool("delegate_task", { goal: "Look around" }, { id: "call_child" }),
      says("Done."),
      refuses(401, "wrong key"),
    ],
    "Look around": [says("Nothing there.")],
  })
  await using app = await assembleApp(model.script, {
    config: "plugins:\n  enabled: [recorder]\nterminal:\n  sandbox: off\n",
    files: RECORDER,
    workFiles: { "build/out.txt": "x\n" },
  })
  const session = await app.open()
  const first = session.id
  await runToEnd(session, "go", (event) => {
    if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice: "deny" })
  })
  session.setPermissionProfile("plan")
  await runToEnd(session, "again")
  const next = await app.open()
  await session.close("session_switch")

  const events = recordedEvents(app)
  const common = { schema: "hermes.observer.v1", session_id: text, task_id: text, turn_id: text }
  for (const [event, payload] of Object.entries(PAYLOADS)) {
    const delivered = events.filter((recorded) => recorded.event === event).map((recorded) => recorded.payload)
    expect(delivered, event).toContainEqual(expect.objectContaining({ ...common, ...payload }))
  }

  const of = (event: string) => events.filter((recorded) => recorded.event === event).map(({ payload }) => payload)
  const [started, ...moreStarted] = of("subagent_start")
  const [stopped, ...moreStopped] = of("subagent_stop")
  expect([...moreStarted, ...moreStopped]).toEqual([])
  expect(started).toMatchObject({ parent_session_id: first })
  expect(stopped).toMatchObject({ parent_session_id: first, child_session_id: started?.["child_session_id"] })
  expect(of("on_session_reset")).toEqual([
    expect.objectContaining({ session_id: next.id, old_session_id: first, new_session_id: next.id }),
  ])
  const order = events.filter(({ payload }) => payload["task_id"] === first).map(({ event }) => event)
  expect(order.slice(0, 3)).toEqual(["on_session_start", "pre_llm_call", "pre_api_request"])
  expect(order.slice(-2)).toEqual(["on_session_finalize", "on_session_reset"])
})
