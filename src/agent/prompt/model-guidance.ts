/** Which models are reminded to act with tools: all, none, those known to need it, or those whose names contain one of these. */
export type ToolUseEnforcement = boolean | "auto" | readonly string[]

export function enforcesToolUse(enforcement: ToolUseEnforcement, model: string): boolean {
  if (typeof enforcement === "boolean") return enforcement
  return containsAny(model, enforcement === "auto" ? NEED_REMINDER : enforcement)
}

/** Guidance that a model family is known to need; empty for others. */
export function familyGuidance(model: string): string {
  if (containsAny(model, ["gpt", "codex", "grok"])) return CAREFUL_WORK
  return containsAny(model, ["gemini", "gemma"]) ? WORKING_HABITS : ""
}

/** Models that tend to describe an action instead of doing it. */
const NEED_REMINDER = ["gpt", "codex", "gemini", "gemma", "grok", "glm", "qwen", "deepseek"]

function containsAny(model: string, parts: readonly string[]): boolean {
  const name = model.toLowerCase()
  return parts.some((part) => part !== "" && name.includes(part.toLowerCase()))
}

export const TOOL_USE =
  "Act with tools instead of describing what you would do. When you announce an action, call the tool in the same reply. Do not end " +
  "with a promise. Go on until the task is done: every reply either makes progress through tools or gives the result."

const CAREFUL_WORK = [
  "<persistence>Use tools as long as they improve the answer. When a result is empty or partial, try another query or another tool " +
    "before you give up. Stop when the task is done and checked.</persistence>",
  "<mandatory_tools>Never answer from memory: arithmetic, hashes and encodings, the time, the state of this system, file contents, " +
    "git, current facts. What you remember describes the user, not this machine.</mandatory_tools>",
  "<acting>When a request has an obvious meaning, act on it instead of asking.</acting>",
  "<checks>Before an action, check what it depends on. Before you finish, verify: is everything asked for there, does tool output " +
    "support every claim, is the format right?</checks>",
  "<missing_context>Look up what is missing. Ask what no tool can find. If you must continue without it, label the assumption.</missing_context>",
].join("\n")

const WORKING_HABITS =
  "Use absolute paths. Read a file before you edit it. Check that a library is there before you use it. Keep text brief. Make " +
  "independent calls together in one reply. Use flags that keep commands from asking. Keep going until the task is done."
