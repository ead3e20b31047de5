import { takeCodePoints } from "../base/text.ts"
import type { NotedCall } from "./dispatch/result-note.ts"

/**
 * What went wrong in a call, in one line; undefined when nothing did or when the call was not really tried (denied, blocked,
 * interrupted, skipped). A command that ran and ended with an error has failed too, although its tool has done its work.
 */
export function failureOf({ outcome, error, text }: NotedCall): string | undefined {
  if (outcome === "error") return oneLine(error ?? text)
  // Exit codes with a meaning of their own, such as "no matches" of grep, are answers and not failures.
  if (outcome !== "ok" || error === undefined || text.includes('"exit_code_meaning":')) return undefined
  return oneLine(tellingLine(error))
}

const MAX_CHARS = 500

/** Programs print a lot before and after the line that says what is wrong. */
function tellingLine(output: string): string {
  const lines = output.split("\n").filter((line) => line.trim() !== "")
  return lines.findLast((line) => TELLING.test(line)) ?? lines.at(-1) ?? ""
}

const TELLING =
  /error|exception|fail|fatal|panic|denied|refused|not found|no such|cannot|can't|unable|invalid|undefined|unknown|missing|timed out/iu

function oneLine(text: string): string {
  return takeCodePoints(text, MAX_CHARS).replaceAll(/\s+/gu, " ").trim()
}
