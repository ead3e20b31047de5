import { orAborted } from "../../base/abort.ts"
import type { Logger } from "../../base/logger.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize, scrubSurrogates } from "../../base/text.ts"
import { contentText } from "../../protocol/message.ts"
import type { Part } from "../../protocol/message.ts"
import { defuseSteerMarkers } from "../../toolkit/untrusted.ts"
import type { Settled } from "./door.ts"
import type { NotedCall, ResultNoteSource } from "./result-note.ts"

export interface NoteOptions {
  readonly signal: AbortSignal
  /** Who may add to results, in this order. */
  readonly notes?: readonly ResultNoteSource[]
  /** Hears of sources that fail. */
  readonly log?: Logger
}

const MAX_NOTE_CHARS = 8500

/** What is added below the result of a call: first what the guardrails say, then what the sources have to say, in their order. */
export async function collectNotes(settled: Settled, options: NoteOptions): Promise<readonly string[]> {
  const notes = settled.warning === undefined ? [] : [settled.warning]
  const { notes: sources = [], signal, log } = options
  if (sources.length === 0 || settled.outcome.how === "skipped") return notes
  const call = notedCall(settled)
  for (const source of sources) {
    if (signal.aborted) break
    try {
      const said = await orAborted(Promise.resolve(source(call, signal)), signal)
      const note = said === undefined ? "" : defuseSteerMarkers(scrubSurrogates(said)).trim()
      if (note !== "") notes.push(ellipsize(note, MAX_NOTE_CHARS))
    } catch (error) {
      log?.warning(`a note for the result of ${call.tool} failed: ${errorMessage(error)}`)
    }
  }
  return notes
}

/** The notes stand outside the label of untrusted text: they are ours. */
export function withNotes(content: string | readonly Part[], notes: readonly string[]): string | readonly Part[] {
  if (notes.length === 0) return content
  return typeof content === "string"
    ? [content, ...notes].join("\n\n")
    : [...content, { type: "text", text: notes.join("\n\n") }]
}

function notedCall({ prepared, outcome, result }: Settled): NotedCall {
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

/** What went wrong, in the words of the tool; for a command that failed these are the last it printed. */
function errorOf({ content, exitCode }: Settled["outcome"]["result"]): string | undefined {
  const fields: Readonly<Record<string, unknown>> = "_multimodal" in content ? {} : content
  const { error, output, exit_code: code = exitCode } = fields
  if (typeof error === "string" && error !== "") return error.replace(FRAMING, "").slice(0, MAX_ERROR_CHARS)
  if (typeof code !== "number" || code === 0) return undefined
  const printed = typeof output === "string" ? output.trim() : ""
  return printed === "" ? `exit code ${code}` : printed.slice(-MAX_ERROR_CHARS)
}
