import type { ToolEnd } from "../../protocol/events.ts"
import { cutToColumns } from "../../terminal/text-layout.ts"

/** A command with a non-zero exit code is a successful tool call, but it is shown as failed. */
export function isFailedCall({ outcome, exitCode }: Pick<ToolEnd, "outcome" | "exitCode">): boolean {
  return outcome !== "ok" || (exitCode ?? 0) !== 0
}

/** What stands behind the line of a call that failed, for example `[exit 1]`; empty for a successful call. */
export function failureSuffix(end: ToolEnd): string {
  if (!isFailedCall(end)) return ""
  if (end.exitCode !== undefined && end.exitCode !== 0) return `[exit ${end.exitCode}]`
  if (end.failureWord !== undefined) return `[${cutToColumns(end.failureWord, MAX_ERROR_COLUMNS)}]`
  if (end.outcome !== "error") return `[${end.outcome}]`
  const error = cutToColumns(withShortPaths(end.summary), MAX_ERROR_COLUMNS)
  return error === "" ? "[error]" : `[${error}]`
}

const MAX_ERROR_COLUMNS = 48
const MAX_PATH_CHARS = 24

function withShortPaths(text: string): string {
  return text.replaceAll(/[^\s"'`:]*\/([^\s/"'`:]+)/gu, (path, name: string) =>
    path.length > MAX_PATH_CHARS ? name : path,
  )
}
