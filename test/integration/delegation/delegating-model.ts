import type { AgentEvent } from "../../../src/protocol/events.ts"
import type { RecordedRequest } from "../../support/model-server/recorded-request.ts"
import { repeat, says } from "../../support/model-server/turn.ts"
import type { RepeatedTurn, Turn, TurnFunction } from "../../support/model-server/turn.ts"

export interface DelegatingModel {
  readonly script: readonly RepeatedTurn[]
  /** The requests of the sub-agent with this goal, or of the conversation (""). */
  requestsOf(goal: string): readonly RecordedRequest[]
}

/** Answers each agent from its own list of turns: the conversation under "", a sub-agent under its goal. */
export function delegatingModel(turns: Readonly<Record<string, readonly (Turn | TurnFunction)[]>>): DelegatingModel {
  const requests = new Map<string, RecordedRequest[]>()
  const next: TurnFunction = async (request) => {
    const goal = goalOf(request)
    const known = requests.get(goal) ?? []
    requests.set(goal, [...known, request])
    const turn = turns[goal]?.[known.length] ?? says(`nothing scripted for "${goal}"`)
    return typeof turn === "function" ? await turn(request) : turn
  }
  return { script: [repeat(next)], requestsOf: (goal) => requests.get(goal) ?? [] }
}

function goalOf({ body }: RecordedRequest): string {
  const { messages } = body as { readonly messages: readonly { readonly content: string }[] }
  const system = messages[0]?.content ?? ""
  if (!system.startsWith("You are a sub-agent")) return ""
  return /# Task\n(.*)\n/u.exec(system)?.[1] ?? ""
}

export interface DelegationResult {
  readonly results: readonly Readonly<Record<string, unknown>>[]
  readonly error?: string
}

/** The result of the last delegation that the conversation has received. */
export function delegationResult(request: RecordedRequest | undefined): DelegationResult {
  if (request === undefined) throw new Error("there was no such request")
  const { messages } = request.body as {
    readonly messages: readonly { readonly role: string; readonly content: string }[]
  }
  const content = messages.findLast(({ role }) => role === "tool")?.content ?? "{}"
  return JSON.parse(content.split("\n").find((line) => line.startsWith("{")) ?? "{}") as DelegationResult
}

export function subagentEvents(events: readonly AgentEvent[]): readonly AgentEvent[] {
  return events.filter(({ type }) => type === "subagent-start" || type === "subagent-end")
}

/** The names of the tools that a request declares. */
export function declaredTools(request: RecordedRequest | undefined): readonly string[] {
  if (request === undefined) throw new Error("there was no such request")
  const { tools } = request.body as { readonly tools: readonly { readonly function: { readonly name: string } }[] }
  return tools.map((tool) => tool.function.name)
}
