import { join } from "node:path"

import { scrubSurrogates } from "../../base/text.ts"
import type { Workspace } from "../../exec/workspace.ts"
import type { ToolMessage } from "../../protocol/message.ts"
import {
  exceedsThreshold,
  persistedOutput,
  resultFileName,
  resultThreshold,
  truncatedOutput,
} from "../../toolkit/result-budget.ts"
import type { ResultBudget } from "../../toolkit/result-budget.ts"
import { isMultimodal } from "../../toolkit/tool.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import { defuseSteerMarkers, wrapUntrusted } from "../../toolkit/untrusted.ts"
import type { PreparedCall } from "./prepare.ts"

export interface BoundOptions {
  readonly workspace: Workspace
  readonly budget: ResultBudget
  readonly redact: (text: string) => string
}

/** The one tool message of a call: bounded, labelled and safe to put into the history. */
export async function boundResult(
  prepared: PreparedCall,
  result: ToolResult,
  options: BoundOptions,
): Promise<{ readonly message: ToolMessage; readonly truncated: boolean }> {
  const entry = prepared.kind === "ready" ? prepared.entry : undefined
  const about = {
    role: "tool",
    tool_call_id: prepared.call.id,
    tool_name: prepared.shown.name,
    ...(entry?.provenance === undefined ? {} : { provenance: entry.provenance }),
  } as const
  if (isMultimodal(result.content)) return { message: { ...about, content: result.content.content }, truncated: false }
  const text = scrubSurrogates(JSON.stringify(result.content))
  const tooLong = entry !== undefined && exceedsThreshold(text, resultThreshold(entry, options.budget))
  const bounded = tooLong ? await spill(text, prepared.call.id, options) : text
  return {
    message: {
      ...about,
      content: wrapUntrusted(defuseSteerMarkers(bounded), {
        tool: about.tool_name,
        ...(entry?.provenance === undefined ? {} : { provenance: entry.provenance }),
      }),
    },
    truncated: tooLong,
  }
}

/** The whole text goes where `read_file` can reach it; the model gets its beginning and the way to the rest. */
async function spill(text: string, callId: string, options: BoundOptions): Promise<string> {
  const { previewChars } = options.budget
  try {
    const path = join(await options.workspace.files.temporaryDirectory(), resultFileName(callId))
    await options.workspace.files.write(path, text)
    return persistedOutput(text, { path, previewChars })
  } catch {
    // A full disk must not lose the answer: its beginning is still worth having, and the text says that it was cut.
    return truncatedOutput(text, previewChars)
  }
}
