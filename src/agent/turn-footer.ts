import { basename } from "node:path"

import { codePointLength } from "../base/text.ts"

/**
 * Lists files that could not be written and that the answer does not mention. Returns a paragraph for the end of the answer, or
 * "".
 */
export function mutationFooter(turn: { readonly failedWrites: readonly string[]; readonly finalText: string }): string {
  const statements = statementsOf(turn.finalText)
  const unreported = [...new Set(turn.failedWrites)].filter((path) => !isReportedAsFailed(path, statements))
  if (unreported.length === 0) return ""
  const listed = unreported.slice(0, MAX_LISTED).map((path) => `\`${path.replaceAll("`", "'").replaceAll("\n", " ")}\``)
  const rest = unreported.length > MAX_LISTED ? ` and ${unreported.length - MAX_LISTED} more` : ""
  return `Note: a change to these files failed in this turn: ${listed.join(", ")}${rest}. Check them before you rely on them.`
}

/**
 * Explains why a turn ended without a complete answer. Returns a sentence for the end of the answer; "" when the turn ended
 * normally, when the user interrupted it or when the answer is complete.
 */
export function completionExplainer(turn: { readonly finalText: string; readonly exitReason: string }): string {
  if (!isFragment(turn.finalText)) return ""
  const reason = abnormalReason(turn.exitReason)
  if (reason === undefined) return ""
  return `The turn ended early: ${reason} (${turn.exitReason}).`
}

const MAX_LISTED = 10
const MAX_FRAGMENT_CHARS = 24

/** No text, or a few words that stop in the middle. */
function isFragment(text: string): boolean {
  const shown = text.trim()
  return codePointLength(shown) <= MAX_FRAGMENT_CHARS && !/[.!?…:;)\]}"'`»”’。！？]$/u.test(shown)
}

function abnormalReason(exitReason: string): string | undefined {
  const [kind = ""] = exitReason.split("(")
  if (kind === "text_response") return TEXT_ENDINGS[exitReason]
  return Object.hasOwn(REASONS, kind) ? REASONS[kind] : "an unexpected error stopped it"
}

/** Finish reasons of a text reply that was cut off. */
const TEXT_ENDINGS: Readonly<Record<string, string>> = {
  "text_response(finish_reason=length)": "the reply reached the output limit of the model",
  "text_response(finish_reason=content_filter)": "the provider's content filter cut the reply",
  "text_response(finish_reason=incomplete)": "the provider stopped the reply before its end",
}

/** Undefined where no explanation is needed: the turn ended normally, or the user ended it. */
const REASONS: Readonly<Record<string, string | undefined>> = {
  interrupted_by_user: undefined,
  interrupted_during_api_call: undefined,
  fallback_prior_turn_content: undefined,
  plan_ready: undefined,
  max_iterations_reached: "it reached the limit of tool calls for one turn; type “continue” to resume",
  budget_exhausted: "it reached the limit of tool calls for one turn; type “continue” to resume",
  guardrail_halt: "the same step kept failing, so it was stopped",
  partial_stream_recovery: "the connection broke while the reply was arriving",
  empty_response_exhausted: "the model sent several empty replies in a row",
  all_retries_exhausted_no_response: "the model could not be reached or rejected the request",
  error_near_max_iterations: "an error inside Hermes stopped it",
  ollama_runtime_context_too_small: "the context window of the model is too small; raise num_ctx of the Ollama server",
  storage_failed: "the conversation could not be saved",
  message_too_large: "one message is larger than the context window of the model",
  cost_limit: "the cost limit of the session is reached",
}

/** One statement per line or sentence. A list item is joined with the line that introduces the list. */
function statementsOf(text: string): readonly string[] {
  let heading = ""
  return text.split("\n").flatMap((line) => {
    const isItem = /^\s*(?:[-*•]|\d+[.)])\s/u.test(line)
    if (!isItem && line.trim() !== "") heading = line.trimEnd().endsWith(":") ? line : ""
    return line.split(/(?<=[.!?])\s+/u).map((sentence) => (isItem ? `${heading} ${sentence}` : sentence))
  })
}

function isReportedAsFailed(path: string, statements: readonly string[]): boolean {
  return statements.some(
    (statement) => (statement.includes(path) || statement.includes(basename(path))) && FAILURE.test(statement),
  )
}

const FAILURE =
  /\b(?:could(?:n['’]t| not)|can(?:['’]t|not)|fail(?:ed|s|ure)?|unable|(?:was|were|is|are|did|has|have)(?:n['’]t| not)|not (?:written|saved|changed|updated|created|applied)|denied|refused|rejected|blocked|unchanged)\b/iu
