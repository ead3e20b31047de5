import { joinLayers } from "../../agent/prompt/build-prompt.ts"
import type { PromptLayer } from "../../agent/prompt/build-prompt.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { Services } from "../services/services.ts"
import type { AuxiliaryModel } from "./auxiliary-model.ts"
import type { FacetFactory } from "./facet-context.ts"
import { createFacets } from "./create-facets.ts"
import type { OpenSessionOptions } from "./session-options.ts"
import { buildSessionPrompt } from "./session-prompt.ts"
import { divideTools, selectTools } from "./session-tools.ts"
import { openWorkspace } from "./session-workspace.ts"

export type PromptPreviewOptions = Pick<OpenSessionOptions, "origin" | "model" | "cwd" | "toolsets">

export interface PromptPreview {
  readonly layers: readonly PromptLayer[]
  readonly tools: readonly ToolDefinition[]
  /** Tools that the model finds through a search instead. */
  readonly deferred: readonly ToolDefinition[]
}

const OPEN_WORKSPACE_MS = 30_000

/** The prompt and tools that a new session would get, without opening one. */
export async function previewPrompt(
  options: PromptPreviewOptions,
  services: Services,
  facetList: readonly FacetFactory[],
): Promise<PromptPreview> {
  const opened = await openWorkspace({ cwd: options.cwd, signal: AbortSignal.timeout(OPEN_WORKSPACE_MS) }, services)
  if (!opened.ok) throw new Error(opened.error)
  const workspace = opened.value
  try {
    const { combined } = await createFacets(facetList, {
      taskId: toSessionId("preview"),
      options,
      services,
      workspace,
      auxiliary: NO_AUXILIARY,
      isPreview: true,
      session: notOpen,
    })
    const tools = selectTools(
      {
        toolsets: options.toolsets,
        fromFacets: combined.tools(),
        workspace,
        toolText: (entry) => combined.toolText(entry),
      },
      services,
    )
    const { origin, model } = options
    const { layers } = await buildSessionPrompt(
      { origin, runtime: model.runtime, tools, facets: combined, workspace },
      services,
    )
    const { contextLength } = model.runtime
    const { declared, deferred } = divideTools(
      tools,
      { prompt: joinLayers(layers), contextLength, sources: combined.toolSources() },
      services,
    )
    return { layers, tools: declared, deferred }
  } finally {
    await workspace.close()
  }
}

function notOpen(): never {
  throw new Error("a prompt preview opens no session")
}

const NO_AUXILIARY: AuxiliaryModel = { call: notOpen, recordCall: notOpen, takeUsage: () => [], close: () => undefined }
