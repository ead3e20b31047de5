import { takeCodePoints } from "../base/text.ts"
import type { SettledCall } from "./facet.ts"

/**
 * The error of a failed call in one line; undefined when it succeeded or did not run (denied, blocked, interrupted, skipped). A
 * command with a non-zero exit code has failed, although its tool call settled as `ok`.
 */
export function callFailure({ outcome, error, text }: SettledCall): string | undefined {
  if (outcome === "error") return oneLine(error ?? text)
  // Exit codes with a known meaning, such as "no matches" of grep, are results and not failures.
  if (outcome !== "ok" || error === undefined || text.includes('"exit_code_meaning":')) return undefined
  return oneLine(mostRelevantLine(error))
}

const MAX_CHARS = 500

/** Programs print a lot before and after the line with the error. */
function mostRelevantLine(output: string): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "")
  return lines.findLast((line) => ERROR_WORDS.test(line)) ?? lines.at(-1) ?? ""
}

const ERROR_WORDS =
  /error|exception|fail|fatal|panic|denied|refused|not found|no such|cannot|can't|unable|invalid|undefined|unknown|missing|timed out/iu

function oneLine(text: string): string {
  return takeCodePoints(text, MAX_CHARS).replaceAll(/\s+/gu, " ").trim()
}
