import { formatTrajectory, toTrajectory } from "../../agent/trajectory.ts"
import { DECLARED_TOOLS } from "../../app/session/stored-prompt.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { SessionRow, SessionStore } from "../../state/store.ts"
import { TOOL_MANIFEST } from "../../tools/manifest.generated.ts"

/** The line of a session as training data; undefined for a session without a conversation. */
export async function trajectoryOf(store: SessionStore, session: SessionRow): Promise<string | undefined> {
  const messages = (await store.conversation(session.id)).filter(({ role }) => role !== "system")
  const [first] = messages
  if (first?.role !== "user" || !messages.some(({ role }) => role === "assistant")) return undefined
  return formatTrajectory(
    toTrajectory({
      messages,
      tools: toolsOf(session, messages),
      userQuery: contentText(first.content),
      model: session.model ?? "",
      completed: isAnswer(messages.at(-1)),
      now: (session.endedAt ?? session.startedAt) * 1000,
    }),
  )
}

/** A conversation that ends with anything but an answer was cut off. */
function isAnswer(message: Message | undefined): boolean {
  return (
    message?.role === "assistant" &&
    (message.tool_calls ?? []).length === 0 &&
    contentText(message.content ?? "").trim() !== ""
  )
}

/** The tools that the session declared, as they are defined now; those it called where it is not known. */
function toolsOf({ modelConfig }: SessionRow, messages: readonly Message[]): readonly ToolDefinition[] {
  const declared: unknown = modelConfig[DECLARED_TOOLS]
  const names = Array.isArray(declared) ? declared : messages.flatMap(calledTools)
  return [...new Set(names)].flatMap((name) => {
    const known = typeof name === "string" ? TOOL_MANIFEST[name] : undefined
    if (known === undefined) return []
    const { name: toolName, description, parameters } = known
    return [{ name: toolName, description, parameters }]
  })
}

function calledTools(message: Message): readonly string[] {
  return message.role === "assistant" ? (message.tool_calls ?? []).map((call) => call.function.name) : []
}
