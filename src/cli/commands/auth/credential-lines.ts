import type { CredentialReport } from "../../../llm/credentials/pool.ts"
import { localDateTime } from "../../terminal/relative-time.ts"
import { fitColumn } from "../../terminal/text-layout.ts"

/** One line per credential, with the number that `hermes auth remove` accepts. Contains no secret. */
export function credentialLines(reports: readonly CredentialReport[]): readonly string[] {
  return reports.map((report, index) =>
    [
      `  ${index + 1}`.padEnd(4),
      fitColumn(report.id, 8),
      fitColumn(report.kind === "oauth" ? "login" : "key", 6),
      fitColumn(report.label, 24),
      fitColumn(report.source, 28),
      stateText(report),
    ].join(" "),
  )
}

function stateText(report: CredentialReport): string {
  const details = [report.errorCode, report.errorReason].filter((part) => part !== null).join(" ")
  const reason = details === "" ? "" : ` (${details})`
  if (report.status === "dead") return `needs a new login${reason}`
  if (report.status === "ok") return "ok"
  const until = report.availableAt === null ? "" : ` until ${localDateTime(report.availableAt)}`
  return `cooldown${until}${reason}`
}

/** One credential for `--json`. */
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
