import type { FacetFactory } from "../session/facet-context.ts"
import { checkpointsFacet } from "./checkpoints.ts"
import { diagnosticsFacet } from "./diagnostics.ts"
import { executedFilesFacet } from "./executed-files.ts"
import { filesFacet } from "./files.ts"
import { learningsFacet } from "./learnings.ts"
import { memoryFacet } from "./memory.ts"
import { memoryProviderFacet } from "./memory-provider.ts"
import { networkQuestionsFacet } from "./network-questions.ts"
import { planFacet } from "./plan.ts"
import { projectRulesFacet } from "./project-rules.ts"
import { resultFilesFacet } from "./result-files.ts"
import { reviewFacet } from "./review.ts"
import { sandboxNoticeFacet } from "./sandbox-notice.ts"
import { sessionsFacet } from "./sessions.ts"
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
  todoFacet,
  planFacet,
  // Before `files`: its watcher attributes changes to the command from the moment the command starts.
  checkpointsFacet,
  filesFacet,
  diagnosticsFacet,
  terminalFacet,
  executedFilesFacet,
  sandboxNoticeFacet,
  networkQuestionsFacet,
  resultFilesFacet,
  trajectoryFacet,
  titleFacet,
  reviewFacet,
]
