import { scrubSurrogates } from "../../base/text.ts"
import { contentText } from "../../protocol/message.ts"
import type { Part, Provenance } from "../../protocol/message.ts"
import { exceedsThreshold, persistedOutput, resultThreshold, truncatedOutput } from "../../toolkit/result-budget.ts"
import { isMultimodal } from "../../toolkit/tool.ts"
import { defuseSteerMarkers, wrapUntrusted } from "../../toolkit/untrusted.ts"
import type { DispatchSession } from "./dispatch-session.ts"
import type { Outcome } from "./outcome.ts"
import type { PreparedCall } from "./prepare.ts"

type BoundOptions = Pick<DispatchSession, "workspace" | "resultBudget">

/** A result that is bounded, labelled and safe to put into the history. */
export interface BoundResult {
  readonly content: string | readonly Part[]
  /** The complete text as the tool returned it. */
  readonly whole: string
  readonly truncated: boolean
  /** Where it came from; absent for text that Hermes wrote. */
  readonly provenance?: Provenance
  /** Moves the result to a file, for a batch whose results are too long together. Absent for images. */
  readonly shorten?: () => Promise<BoundResult & { readonly content: string }>
}

export async function boundResult(
  prepared: PreparedCall,
  { result: { content, provenance: own }, from }: Outcome,
  options: BoundOptions,
): Promise<BoundResult> {
  const provenance = from === "tool" ? (own ?? prepared.entry?.provenance) : undefined
  const origin = provenance === undefined ? {} : { provenance }
  if (isMultimodal(content)) {
    const parts = content.content.map(safePart)
    return { ...origin, content: parts, whole: content.text_summary || contentText(parts), truncated: false }
  }
  const whole = scrubSurrogates(JSON.stringify(content))
  const label = (text: string): string =>
    wrapUntrusted(defuseSteerMarkers(text), { tool: prepared.shown.name, ...origin })
  const shorten = async (): Promise<BoundResult & { readonly content: string }> => ({
    ...origin,
    content: label(await keepInFile(readableText(content), options)),
    whole,
    truncated: true,
  })
  const { entry } = prepared
  const tooLong = entry !== undefined && exceedsThreshold(whole, resultThreshold(entry, options.resultBudget))
  return tooLong ? await shorten() : { ...origin, content: label(whole), whole, truncated: false, shorten }
}

/** Writes a complete text where `read_file` can reach it. Returns its path, or undefined when it cannot be written. */
export async function spillText(
  text: string,
  { workspace }: Pick<BoundOptions, "workspace">,
): Promise<string | undefined> {
  try {
    return await workspace.results.save(text)
  } catch {
    // A full disk must not lose the result: the caller keeps its beginning and notes that the rest is lost.
    return undefined
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

/** The model gets the beginning of the text and the path of the rest. */
async function keepInFile(text: string, options: BoundOptions): Promise<string> {
  const { previewChars } = options.resultBudget
  const path = await spillText(text, options)
  return path === undefined ? truncatedOutput(text, previewChars) : persistedOutput(text, { path, previewChars })
}
