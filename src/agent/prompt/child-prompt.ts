/** What a sub-agent must know. It sees nothing of the conversation that it works for. */
export interface ChildPromptFacts {
  readonly goal: string
  readonly context?: string | undefined
  /** Absent when it is not known. */
  readonly workspacePath?: string | undefined
  readonly workspaceNote?: string | undefined
  readonly isPlanMode: boolean
  /** Set for a sub-agent that may start others. */
  readonly orchestrator?: { readonly depth: number; readonly maxDepth: number; readonly maxConcurrent: number }
}

/** The system prompt of a sub-agent. */
export function childPrompt(facts: ChildPromptFacts): string {
  const { goal, context, workspacePath, workspaceNote, orchestrator } = facts
  return [
    "You are a sub-agent of Hermes Agent. Another agent gave you one task. You work alone: you cannot ask anyone, and nobody reads what you write before your final answer.",
    `# Task\n${goal}`,
    context === undefined || context.trim() === "" ? "" : `# Context\n${context}`,
    `# Workspace\n${workspaceText(workspacePath)}${workspaceNote === undefined ? "" : `\n${workspaceNote}`}`,
    facts.isPlanMode
      ? "# Plan mode\nOnly reading is possible. Calls that change something are refused; do not try them."
      : "",
    orchestrator === undefined ? "" : orchestratorText(orchestrator),
    RESULT,
  ]
    .filter((part) => part !== "")
    .join("\n\n")
}

function workspaceText(path: string | undefined): string {
  return path === undefined || path === ""
    ? "Find out the working directory with a tool before you name absolute paths."
    : `The working directory is ${path}. Use exactly this path; do not assume another one such as /workspace.`
}

function orchestratorText({ depth, maxDepth, maxConcurrent }: NonNullable<ChildPromptFacts["orchestrator"]>): string {
  return [
    "# Delegation",
    `You may delegate parts of the task, at most ${maxConcurrent} at the same time. You are at depth ${depth} of ${maxDepth}.`,
    "Delegate parts that are independent or need much reading. Do not delegate single steps, and never pass the whole task on.",
    "Check what your sub-agents report, and combine their results into one answer of your own.",
  ].join("\n")
}

const RESULT = [
  "# Final answer",
  "End with a short report: what you did, what you found, which files you created or changed (full paths), and what went wrong or is left to do.",
  "Report only what you have verified. If something was refused because it needs the user's approval, name the exact call.",
].join("\n")
