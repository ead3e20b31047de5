import { projectContextLayer } from "../../agent/prompt/project-context.ts"
import type { FacetLayer } from "../../agent/facet.ts"
import type { Environment } from "../../config/environment.ts"
import { findContextFiles } from "../../knowledge/context-files.ts"
import { LOCAL_FILES } from "../../knowledge/local-files.ts"
import { createSubdirectoryHints } from "../../knowledge/subdirectory-hints.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

const MAX_HINT_CHARS = 8000

/** The rules files of the project: those above the working directory in the prompt, those below with the first call that goes there. */
export function projectRulesFacet({ workspace, services }: FacetContext): AppFacet | undefined {
  const { config, environment } = services
  if (ignoresRules(environment)) return undefined
  const hints = createSubdirectoryHints({ root: workspace.cwd(), files: workspace.files, maxChars: MAX_HINT_CHARS })
  return {
    name: "project rules",
    promptLayers: async () => {
      // A command may have left rules there, during which an earlier Hermes was killed.
      await services.interruptedChecks()
      const { files, warnings } = await findContextFiles({
        cwd: workspace.cwd(),
        maxChars: config.get("context_file_max_chars"),
        files: workspace.kind === "local" ? LOCAL_FILES : workspace.files,
      })
      return [projectContextLayer(files), ...warnings.map(warningLayer)]
    },
    afterTool: async ({ entry, subjects, outcome }) => {
      if (outcome !== "ok") return undefined
      const path = subjects.find((subject) => subject.kind === "path")?.path
      return path === undefined
        ? undefined
        : await hints.hintFor(path, entry?.subjectsAreFiles === true ? "file" : undefined)
    },
  }
}

function warningLayer(warning: string): FacetLayer {
  return { tier: "context", name: "project context", text: "", warning }
}

/** The user started Hermes without project rules. */
function ignoresRules(environment: Environment): boolean {
  return environment.truthy("HERMES_IGNORE_RULES") || environment.truthy("HERMES_SAFE_MODE")
}
