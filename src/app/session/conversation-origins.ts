import type { Conversation } from "../../agent/conversation.ts"
import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"
import type { Permissions } from "../../agent/permissions.ts"
import { PROJECT_CONTEXT_TITLE } from "../../agent/prompt/project-context.ts"
import { lazy } from "../../base/lazy.ts"
import { SKILL_TEXT_OPENING } from "../../knowledge/skills/skill-message.ts"
import type { OriginsSource } from "../../policy/provenance/text-origins.ts"
import type { Message } from "../../protocol/message.ts"
import type { RuleLayerName } from "../../policy/rules/permission-rules.ts"
import type { ToolRole } from "../../toolkit/tool.ts"
import { HOOK_TEXT_OPENING, STEER_CLOSING, STEER_OPENING } from "../../toolkit/untrusted.ts"
import { ATTACHED_OPENING } from "../input/attached-opening.ts"
import type { SessionTools } from "./session-tools.ts"

/** Which text of a conversation is the user's. Nothing is loaded or read before the first call that needs to know. */
export function conversationOrigins(
  {
    conversation,
    tools,
    earlierHistory,
  }: {
    readonly conversation: Conversation
    readonly tools: Pick<SessionTools, "entries">
    /** What led to a sub-agent. */
    readonly earlierHistory: readonly Message[]
  },
  permissions: Pick<Permissions, "rules">,
): Required<Pick<DispatchSession, "origins" | "noteInnerCall">> {
  const others: Message[] = []
  const load = lazy(async () => {
    const { createTextOrigins } = await import("../../policy/provenance/text-origins.ts")
    return createTextOrigins({
      history: () => [...earlierHistory, ...conversation.history],
      takeOthers: () => others.splice(0),
      projectRules: () => projectRules(conversation.system),
      ruleArguments: () => ruleArguments(permissions),
      resultsOf: (name) => RESULTS[tools.entries.get(name)?.role ?? "shell"],
      steering: { opening: STEER_OPENING, closing: STEER_CLOSING },
      injectedOpenings: [SKILL_TEXT_OPENING, HOOK_TEXT_OPENING],
      attachedOpening: ATTACHED_OPENING,
    })
  })
  return {
    origins: async () => (await load())(),
    noteInnerCall: ({ call, tool, text, provenance }) => {
      const from = provenance === undefined ? {} : { provenance }
      others.push(
        { role: "assistant", content: "", tool_calls: [call] },
        { role: "tool", tool_call_id: call.id, tool_name: tool, content: text.slice(0, MAX_KEPT_CHARS), ...from },
      )
      others.splice(0, others.length - MAX_KEPT_MESSAGES)
    },
  }
}

/** Calls of scripts wait here until a call has to be judged by origin. In a profile without questions that may be never. */
const MAX_KEPT_MESSAGES = 200
const MAX_KEPT_CHARS = 200_000

/** What the results of tools contain that declare no provenance. */
const RESULTS: Readonly<Record<ToolRole, ReturnType<OriginsSource["resultsOf"]>>> = {
  "session-search": "stored text",
  learnings: "stored text",
  skills: "stored text",
  question: "an answer of the user",
  memory: "own text",
  "task-list": "own text",
  shell: "own text",
  "shell-input": "own text",
  "file-reader": "own text",
  "file-search": "own text",
  script: "own text",
  delegation: "stored text",
}

/** From their title to the end of the prompt: a file could imitate any other end. */
function projectRules(system: string): string {
  const start = system.indexOf(PROJECT_CONTEXT_TITLE)
  return start === -1 ? "" : system.slice(start)
}

/** Rules of the workspace and of profiles are not the user's words. */
const USER_LAYERS: ReadonlySet<RuleLayerName> = new Set(["session", "cli", "platform", "settings", "home"])

function ruleArguments({ rules }: Pick<Permissions, "rules">): readonly string[] {
  return rules().layers.flatMap(({ name, rules: own }) =>
    USER_LAYERS.has(name)
      ? own.flatMap(({ decision, pattern }) => (decision === "allow" ? (pattern.argument?.text ?? []) : []))
      : [],
  )
}
