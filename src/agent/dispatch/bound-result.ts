import { join } from "node:path"

import { scrubSurrogates } from "../../base/text.ts"
import type { FileSystem, Workspace } from "../../exec/workspace.ts"
import type { Part, ToolMessage } from "../../protocol/message.ts"
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
  if (isMultimodal(result.content)) {
    return { message: { ...about, content: result.content.content.map(safePart) }, truncated: false }
  }
  const text = scrubSurrogates(JSON.stringify(result.content))
  const tooLong = entry !== undefined && exceedsThreshold(text, resultThreshold(entry, options.budget))
  const bounded = tooLong ? await spill(readableText(result.content), prepared.call.id, options) : text
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

function safePart(part: Part): Part {
  return part.type === "text" ? { ...part, text: defuseSteerMarkers(scrubSurrogates(part.text)) } : part
}

/** For a file that is read line by line: long strings keep their lines instead of becoming one line of JSON. */
function readableText(content: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(content).map(([name, value]) =>
    typeof value === "string" && value.includes("\n")
      ? `${name}:\n${value}`
      : `${name}: ${typeof value === "string" ? value : JSON.stringify(value, undefined, 1)}`,
  )
  return scrubSurrogates(fields.join("\n"))
}

/** The whole text goes where `read_file` can reach it; the model gets its beginning and the way to the rest. */
async function spill(text: string, callId: string, options: BoundOptions): Promise<string> {
  const { previewChars } = options.budget
  try {
    const path = await unusedPath(
      join(await options.workspace.files.temporaryDirectory(), resultFileName(callId)),
      options.workspace.files,
    )
    await options.workspace.files.write(path, text)
    return persistedOutput(text, { path, previewChars })
  } catch {
    // A full disk must not lose the answer: its beginning is still worth having, and the text says that it was cut.
    return truncatedOutput(text, previewChars)
  }
}

/** Some models count their calls anew in every session; an earlier result may still be referred to. */
async function unusedPath(path: string, files: FileSystem): Promise<string> {
  let candidate = path
  for (let copy = 2; (await files.stat(candidate)) !== undefined; copy += 1) {
    candidate = path.replace(/\.txt$/, `-${copy}.txt`)
  }
  return candidate
}
