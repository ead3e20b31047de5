import type { FacetFactory } from "../session/facet-context.ts"
import { backgroundTasksFacet } from "./background-tasks.ts"
import { checkpointsFacet } from "./checkpoints.ts"
import { delegationFacet } from "./delegation.ts"
import { diagnosticsFacet } from "./diagnostics.ts"
import { executedFilesFacet } from "./executed-files/executed-files.ts"
import { filesFacet } from "./files.ts"
import { learningsFacet } from "./learnings.ts"
import { mcpFacet } from "./mcp.ts"
import { memoryFacet } from "./memory.ts"
import { memoryProviderFacet } from "./memory-provider.ts"
import { networkQuestionsFacet } from "./network-questions.ts"
import { lifecycleHooksFacet } from "./lifecycle-hooks.ts"
import { orphanedProcessesFacet } from "./orphaned-processes.ts"
import { planFacet } from "./plan.ts"
import { pluginsFacet } from "./plugins.ts"
import { projectRulesFacet } from "./project-rules.ts"
import { resultFilesFacet } from "./result-files.ts"
import { reviewFacet } from "./review.ts"
import { sandboxNoticeFacet } from "./sandbox-notice.ts"
import { sessionsFacet } from "./sessions.ts"
import { skillProposalFacet } from "./skill-proposal.ts"
import { skillsFacet } from "./skills.ts"
import { terminalFacet } from "./terminal.ts"
import { titleFacet } from "./title.ts"
import { todoFacet } from "./todo.ts"
import { trajectoryFacet } from "./trajectory.ts"

/**
 * What a session consists of, apart from its loop. A new capability is a new file and a line here. The order decides the order of prompt
 * layers, injected texts and notes; facets are closed in reverse.
 */
export const FACETS: readonly FacetFactory[] = [
  projectRulesFacet,
  memoryFacet,
  memoryProviderFacet,
  sessionsFacet,
  learningsFacet,
  skillsFacet,
  todoFacet,
  planFacet,
  // Before `files`: its watcher attributes changes to the command from the moment the command starts.
  checkpointsFacet,
  filesFacet,
  diagnosticsFacet,
  terminalFacet,
  executedFilesFacet,
  orphanedProcessesFacet,
  sandboxNoticeFacet,
  networkQuestionsFacet,
  mcpFacet,
  pluginsFacet,
  lifecycleHooksFacet,
  delegationFacet,
  backgroundTasksFacet,
  resultFilesFacet,
  trajectoryFacet,
  titleFacet,
  reviewFacet,
  skillProposalFacet,
]

/** What only a conversation with a user has: sub-agents get no rules files and no memory, and leave no titles, reviews and plans. */
const FOR_USERS: ReadonlySet<FacetFactory> = new Set([
  projectRulesFacet,
  memoryFacet,
  memoryProviderFacet,
  planFacet,
  backgroundTasksFacet,
  trajectoryFacet,
  titleFacet,
  reviewFacet,
])

export const CHILD_FACETS: readonly FacetFactory[] = FACETS.filter((facet) => !FOR_USERS.has(facet))
