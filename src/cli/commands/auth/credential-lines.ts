import type { CredentialReport } from "../../../llm/credentials/pool.ts"
import type { Invocation } from "../../command.ts"
import { localDateTime } from "../../../terminal/relative-time.ts"
import { outputWidth, tableLines } from "../../terminal/table.ts"

/** Prints one line per credential, with the number that `hermes auth remove` accepts. Prints no secret. */
export function printCredentials(reports: readonly CredentialReport[], invocation: Invocation): void {
  const rows = reports.map((report, index) => [
    String(index + 1),
    report.id,
    report.kind === "oauth" ? "login" : "key",
    report.label,
    report.source,
    stateText(report),
  ])
  const columns = [{}, {}, {}, { flexible: true }, { flexible: true }, {}]
  const lines = tableLines(columns, rows, { width: outputWidth(invocation), indent: "  " })
  for (const line of lines) invocation.terminal.line(line)
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
