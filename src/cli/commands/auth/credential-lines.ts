import type { CredentialReport } from "../../../llm/credentials/pool.ts"
import { localDateTime } from "../../relative-time.ts"
import { fitColumn } from "../../text-layout.ts"

/** One line per credential, numbered as `hermes auth remove` counts. Never a secret. */
export function credentialLines(reports: readonly CredentialReport[]): readonly string[] {
  return reports.map((report, index) =>
    [
      `  ${index + 1}`.padEnd(4),
      fitColumn(report.id, 8),
      fitColumn(report.kind === "oauth" ? "login" : "key", 6),
      fitColumn(report.label, 24),
      fitColumn(report.source, 28),
      stateWords(report),
    ].join(" "),
  )
}

function stateWords(report: CredentialReport): string {
  const why = [report.errorCode, report.errorReason].filter((part) => part !== null).join(" ")
  const reason = why === "" ? "" : ` (${why})`
  if (report.status === "dead") return `needs a new login${reason}`
  if (report.status === "ok") return "ok"
  const until = report.availableAt === null ? "" : ` until ${localDateTime(report.availableAt)}`
  return `waiting${until}${reason}`
}

/** The same for programs. */
export function credentialJson(report: CredentialReport): object {
  return {
    id: report.id,
    label: report.label,
    auth_type: report.kind,
    source: report.source,
    status: report.status,
    error_code: report.errorCode,
    error_reason: report.errorReason,
    available_at: report.availableAt,
    expires_at: report.expiresAt,
    request_count: report.requestCount,
  }
}
