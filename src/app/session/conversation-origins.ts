import type { Conversation } from "../../agent/conversation.ts"
import type { Permissions } from "../../agent/permissions.ts"
import { PROJECT_CONTEXT_TITLE } from "../../agent/prompt/project-context.ts"
import { lazy } from "../../base/lazy.ts"
import type { OriginsSource, TextOrigins } from "../../policy/provenance/text-origins.ts"
import type { RuleLayerName } from "../../policy/rules/permission-rules.ts"
import type { ToolRole } from "../../toolkit/tool.ts"
import { STEER_CLOSING, STEER_OPENING } from "../../toolkit/untrusted.ts"
import type { SessionTools } from "./session-tools.ts"

/** Which text of a conversation is the user's. Nothing is loaded or read before the first call that needs to know. */
export function conversationOrigins(
  { conversation, tools }: { readonly conversation: Conversation; readonly tools: SessionTools },
  permissions: Pick<Permissions, "rules">,
): () => Promise<TextOrigins> {
  const load = lazy(async () => {
    const { createTextOrigins } = await import("../../policy/provenance/text-origins.ts")
    return createTextOrigins({
      history: () => conversation.history,
      projectRules: () => projectRules(conversation.system),
      ruleArguments: () => ruleArguments(permissions),
      resultsOf: (name) => RESULTS[tools.entries.get(name)?.role ?? "shell"],
      steering: { opening: STEER_OPENING, closing: STEER_CLOSING },
    })
  })
  return async () => (await load())()
}

/** What the results of tools contain that declare no provenance. */
const RESULTS: Readonly<Record<ToolRole, ReturnType<OriginsSource["resultsOf"]>>> = {
  "session-search": "stored text",
  learnings: "stored text",
  question: "an answer of the user",
  memory: "own text",
  "task-list": "own text",
  shell: "own text",
  "shell-input": "own text",
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
