import type { Message } from "../../protocol/message.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import { createBackgroundTask } from "./background-task.ts"
import { isSkillWriter } from "./skill-writer.ts"

/**
 * After hard work a copy of the agent drafts a skill from it in the background, or improves an existing one. Nothing is saved: the draft waits for
 * the user, who is told below the next answer.
 */
export function skillProposalFacet(context: FacetContext): AppFacet | undefined {
  const { config, log } = context.services
  const interval = config.get("skills.creation_nudge_interval")
  if (interval === 0) return undefined
  const task = createBackgroundTask("the draft of a skill", log)
  const drafted: string[] = []
  let rounds = 0
  return {
    name: "skill proposal",
    afterTurn: ({ end: { outcome, result } }) => {
      const { tools, permissions } = context.session().dispatch
      const turn = lastTurn(result.messages)
      rounds = turn.some((message) => writesSkill(message, tools)) ? 0 : rounds + turn.filter(hasCalls).length
      if (rounds < interval || outcome !== "completed") return
      const canPropose = [...tools.values()].some(isSkillWriter) && permissions.profile !== "plan"
      if (!canPropose || !context.options.origin.attended()) return
      rounds = 0
      task.start(async (signal) => {
        const { draftSkill } = await import("./draft-skill.ts")
        drafted.push(...(await draftSkill(result.messages, context, signal)))
      })
    },
    turnFooter: () => {
      const lines = drafted.splice(0)
      return lines.length === 0 ? undefined : lines.join("\n")
    },
    close: () => task.stop(),
  }
}

function lastTurn(messages: readonly Message[]): readonly Message[] {
  const start = messages.findLastIndex((message) => message.role === "user" && message.synthetic === undefined)
  return messages.slice(start + 1)
}

function hasCalls(message: Message): boolean {
  return message.role === "assistant" && (message.tool_calls ?? []).length > 0
}

function writesSkill(message: Message, tools: ReadonlyMap<string, ToolEntry>): boolean {
  if (message.role !== "assistant") return false
  return (message.tool_calls ?? []).some((call) => {
    const entry = tools.get(call.function.name)
    return entry !== undefined && isSkillWriter(entry)
  })
}
