import type { Clock } from "../base/clock.ts"
import type { AgentEvent } from "../protocol/events.ts"

/** What a session is doing, for a supervisor such as the gateway. Times are epoch seconds. */
export interface ActivitySummary {
  readonly last_activity_ts: number
  readonly last_activity_desc: string
  readonly seconds_since_activity: number
  readonly current_tool: string | null
  readonly api_call_count: number
  readonly max_iterations: number
  readonly budget_used: number
  readonly budget_max: number
}

/** Derives the activity of a session from its events. */
export function createActivity(
  clock: Clock,
  maxIterations: number,
): { observe(event: AgentEvent): void; summary(): ActivitySummary } {
  let lastAt = clock.now()
  let lastDescription = "opened"
  let tools: readonly string[] = []
  let calls = 0
  let used = 0
  return {
    observe: (event) => {
      lastAt = clock.now()
      lastDescription = describe(event)
      if (event.type === "run-start") [calls, used, tools] = [0, 0, []]
      if (event.type === "status" && event.kind === "iteration") {
        calls += 1
        used = event.iteration
      }
      if (event.type === "tool-start") tools = [...tools, event.call.name]
      if (event.type === "tool-end") tools = without(tools, event.call.name)
    },
    summary: () => ({
      last_activity_ts: lastAt / 1000,
      last_activity_desc: lastDescription,
      seconds_since_activity: (clock.now() - lastAt) / 1000,
      current_tool: tools.at(-1) ?? null,
      api_call_count: calls,
      max_iterations: maxIterations,
      budget_used: used,
      budget_max: maxIterations,
    }),
  }
}

function describe(event: AgentEvent): string {
  switch (event.type) {
    case "tool-start":
      return `running ${event.call.name}`
    case "tool-end":
      return `${event.call.name} ended`
    case "status":
      return event.kind === "iteration" ? "waiting for the model" : event.kind
    case "text-delta":
    case "reasoning-delta":
      return "receiving a reply"
    default:
      return event.type
  }
}

function without(names: readonly string[], name: string): readonly string[] {
  const index = names.lastIndexOf(name)
  return index === -1 ? names : names.toSpliced(index, 1)
}
