import { assertNever } from "../../base/assert-never.ts"
import { ellipsize } from "../../base/text.ts"
import type { AgentEvent, RunEnd, SubagentEvent, SubagentStatus } from "../../protocol/events.ts"
import type { ToolOutcome } from "../../protocol/tool.ts"
import type { ChildProgress } from "./heartbeat.ts"

type Identity = Pick<SubagentStatus, "subagentId" | "parentId" | "depth">

/** What the events of a sub-agent say about it. */
export interface WatchedChild {
  /** Returns what the surface of the conversation should see of the event. */
  observe(event: AgentEvent): readonly SubagentEvent[]
  progress(): ChildProgress
  /** Its model has answered at least once. */
  hasAnswered(): boolean
  readonly ends: readonly RunEnd[]
  /** By call id. */
  readonly outcomes: ReadonlyMap<string, ToolOutcome>
}

const MAX_TEXT_CHARS = 500
const PROGRESS_EVERY = 5

export function watchChild(identity: Identity): WatchedChild {
  const running = new Map<string, string>()
  const outcomes = new Map<string, ToolOutcome>()
  const ends: RunEnd[] = []
  let iteration = 0
  let calls = 0
  let hasAnswered = false
  const status = (activity: SubagentStatus["activity"], text: string, tool?: string): SubagentStatus => ({
    type: "status",
    kind: "subagent",
    ...identity,
    activity,
    ...(tool === undefined ? {} : { tool }),
    text: ellipsize(text, MAX_TEXT_CHARS),
  })
  return {
    ends,
    outcomes,
    hasAnswered: () => hasAnswered,
    progress: () => ({ iteration, tool: [...running.values()].at(-1) }),
    observe: (event) => {
      switch (event.type) {
        case "tool-start": {
          const { id, name } = event.call
          running.set(id, name)
          calls += 1
          const started = status("tool", `${name} ${event.preview}`.trimEnd(), name)
          return calls % PROGRESS_EVERY === 0 ? [started, status("progress", `${calls} tool calls`)] : [started]
        }
        case "tool-end":
          running.delete(event.call.id)
          outcomes.set(event.call.id, event.outcome)
          return []
        case "message-end":
          hasAnswered = true
          return event.message.text.trim() === "" ? [] : [status("text", event.message.text)]
        case "status":
          if (event.kind === "subagent") return [event]
          if (event.kind !== "iteration") return []
          iteration += 1
          return [status("thinking", "")]
        case "subagent-start":
        case "subagent-end":
          return [event]
        case "run-end":
          ends.push(event)
          return []
        case "run-start":
        case "text-delta":
        case "reasoning-delta":
        case "tool-progress":
        case "approval-request":
        case "clarify-request":
        case "plan-ready":
        case "usage":
        case "session-rotated":
          return []
        default:
          return assertNever(event)
      }
    },
  }
}
