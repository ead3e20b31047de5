import { readFileSync } from "node:fs"

import { AUDIT_FILE } from "../../app/permissions/audit-log.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { HomeContext } from "../home-context.ts"
import { logParts } from "../logs/log-files.ts"
import { parseAge } from "../logs/log-filter.ts"

export interface AuditFilter {
  readonly session?: string
  readonly tool?: string
  readonly decision?: string
  /** Seconds since the epoch. */
  readonly since?: number
}

export type AuditLine = Readonly<Record<string, unknown>>

const DECISIONS = ["allow", "deny", "ask"]

export function readAuditFilter(options: {
  readonly session: string | undefined
  readonly tool: string | undefined
  readonly decision: string | undefined
  readonly since: string | undefined
  readonly now: number
}): Result<AuditFilter> {
  const { session, tool, decision, since } = options
  if (decision !== undefined && !DECISIONS.includes(decision))
    return fail(`\`${decision}\` is not a decision; use one of ${DECISIONS.join(", ")}.`)
  const age = since === undefined ? undefined : parseAge(since)
  if (since !== undefined && age === undefined) return fail(`\`${since}\` is not an age; write 45s, 30m, 2h or 1d.`)
  return ok({
    ...(session === undefined ? {} : { session }),
    ...(tool === undefined ? {} : { tool }),
    ...(decision === undefined ? {} : { decision }),
    ...(age === undefined ? {} : { since: (options.now - age) / 1000 }),
  })
}

/** The newest decisions that pass the filter, oldest first. Undefined when nothing was ever recorded. */
export function readAudit(
  { home }: Pick<HomeContext, "home">,
  filter: AuditFilter,
  limit: number,
): readonly AuditLine[] | undefined {
  const parts = logParts(home.file("logs", AUDIT_FILE))
  if (parts.length === 0) return undefined
  const found: AuditLine[] = []
  for (const part of parts) {
    for (const line of readFileSync(part, "utf8").split("\n").toReversed()) {
      const entry = parseJson(line)
      if (!isRecord(entry) || !passes(entry, filter)) continue
      found.push(entry)
      if (found.length === limit) return found.toReversed()
    }
  }
  return found.toReversed()
}

function passes(entry: AuditLine, { session, tool, decision, since }: AuditFilter): boolean {
  const { ts } = entry
  return (
    (session === undefined || entry["session_id"] === session) &&
    (tool === undefined || entry["tool"] === tool) &&
    (decision === undefined || entry["decision"] === decision) &&
    (since === undefined || (typeof ts === "number" && ts >= since))
  )
}
