import { ellipsize, scrubSurrogates } from "../../base/text.ts"
import { contentText } from "../../protocol/message.ts"
import type { Part } from "../../protocol/message.ts"
import { defuseSteerMarkers } from "../../toolkit/untrusted.ts"
import type { SettledCall } from "../facet.ts"
import type { DispatchSession } from "./dispatch-session.ts"
import type { Settled } from "./settled.ts"

const MAX_NOTE_CHARS = 8500

/** The lines below the result of a call: the guardrail warning first, then the notes about inner calls, then those of the facets. */
export async function collectNotes(
  settled: Settled,
  { hooks }: DispatchSession,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { innerNotes = [] } = settled.outcome
  const before = [...(settled.warning === undefined ? [] : [settled.warning]), ...innerNotes]
  if (hooks === undefined || settled.outcome.how === "skipped") return before
  const notes = (await hooks.afterTool(settledCall(settled), signal)).map((note) =>
    ellipsize(defuseSteerMarkers(scrubSurrogates(note)).trim(), MAX_NOTE_CHARS),
  )
  return [...before, ...notes.filter((note) => note !== "" && !innerNotes.includes(note))]
}

/** Notes stand outside the label for untrusted text, because Hermes wrote them. */
export function withNotes(content: string | readonly Part[], notes: readonly string[]): string | readonly Part[] {
  if (notes.length === 0) return content
  return typeof content === "string"
    ? [content, ...notes].join("\n\n")
    : [...content, { type: "text", text: notes.join("\n\n") }]
}

function settledCall({ prepared, outcome, result }: Settled): SettledCall {
  const error = errorOf(outcome.result)
  return {
    tool: prepared.shown.name,
    ...(prepared.entry === undefined ? {} : { entry: prepared.entry }),
    args: prepared.args,
    access: prepared.kind === "ready" ? prepared.parsed.access : "unknown",
    subjects: prepared.kind === "ready" ? prepared.parsed.subjects : [],
    outcome: outcome.how,
    text: contentText(result.content),
    ...(error === undefined ? {} : { error }),
  }
}

const MAX_ERROR_CHARS = 2000
const FRAMING = /^\[TOOL_ERROR\] (?:Tool execution failed: )?/u

/** The error as the tool reported it; for a failed command, the end of its output. */
function errorOf({ content, exitCode }: Settled["outcome"]["result"]): string | undefined {
  const fields: Readonly<Record<string, unknown>> = "_multimodal" in content ? {} : content
  const { error, output, exit_code: code = exitCode } = fields
  if (typeof error === "string" && error !== "") return error.replace(FRAMING, "").slice(0, MAX_ERROR_CHARS)
  if (typeof code !== "number" || code === 0) return undefined
  const printed = typeof output === "string" ? output.trim() : ""
  return printed === "" ? `exit code ${code}` : printed.slice(-MAX_ERROR_CHARS)
}
