import { setTimeout } from "node:timers"

import type { AuditEntry } from "../../agent/dispatch/audit.ts"
import type { PermissionEvent } from "../../agent/permissions.ts"
import { redactArguments } from "../../agent/redact-arguments.ts"
import type { Clock } from "../../base/clock.ts"
import { createFileSink } from "../../base/file-logger.ts"
import type { Logger } from "../../base/logger.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import type { Redactor } from "../../base/redact.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"

/** The sessions that decisions belong to. */
export interface AuditedSession {
  readonly sessionId: () => string
  readonly taskId: string
  readonly platform: string
  readonly userId: string | undefined
}

/** `logs/audit.jsonl`: one line for each decision and each change of permissions. */
export interface AuditFile {
  record(entry: AuditEntry, session: AuditedSession): void
  recordEvent(event: PermissionEvent, session: AuditedSession): void
  /** Writes what is still buffered. */
  flush(): void
}

export const AUDIT_FILE = "audit.jsonl"

const FLUSH_MS = 200
const MAX_PREVIEW_CHARS = 300
/** A secret that ends beyond this cannot reach into the preview. */
const MAX_REDACTED_CHARS = 8000
const BYTES_PER_MEGABYTE = 1024 * 1024

/** Lines are formatted and written a moment later, so that no call waits for the disk. A failure to write never stops a call. */
export function createAuditFile(options: {
  readonly home: Home
  readonly config: Config
  readonly redactor: Redactor
  readonly clock: Clock
  readonly log: Logger
}): AuditFile {
  const { home, config, redactor, clock, log } = options
  if (!config.get("approvals.audit.enabled"))
    return { record: () => undefined, recordEvent: () => undefined, flush: () => undefined }
  const sink = createFileSink({
    path: home.file("logs", AUDIT_FILE),
    level: "DEBUG",
    maxBytes: config.get("approvals.audit.max_mb") * BYTES_PER_MEGABYTE,
    backups: config.get("approvals.audit.keep"),
  })
  // The audit is redacted even where the user has disabled redaction: it is kept and shown to others.
  const redact = (text: string): string => redactor.redact(text, { force: true })
  let buffered: (() => Readonly<Record<string, unknown>>)[] = []
  let timer: NodeJS.Timeout | undefined
  let hasFailed = false
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    const lines = buffered
    buffered = []
    for (const line of lines) {
      try {
        sink.write(JSON.stringify(line()))
      } catch (error) {
        if (!hasFailed) log.warning(`the audit log cannot be written: ${errorMessage(error)}`)
        hasFailed = true
      }
    }
  }
  const add = (line: () => Readonly<Record<string, unknown>>): void => {
    buffered.push(line)
    timer ??= setTimeout(flush, FLUSH_MS).unref()
  }
  const sessionFields = ({ sessionId, taskId, platform, userId }: AuditedSession) => ({
    ts: clock.now() / 1000,
    session_id: sessionId(),
    task_id: taskId,
    platform,
    ...(userId === undefined ? {} : { user_id: userId }),
  })
  return {
    record: (entry, session) => {
      const fields = sessionFields(session)
      const turn = `${fields.session_id}:${session.taskId}:${entry.runId}`
      add(() => ({ ...fields, turn_id: turn, ...entryFields(entry, redact) }))
    },
    recordEvent: (event, session) => {
      const fields = sessionFields(session)
      const { kind, ...details } = event
      add(() => ({ ...fields, event: kind, ...redactArguments(details, redact) }))
    },
    flush,
  }
}

function entryFields(entry: AuditEntry, redact: (text: string) => string): Readonly<Record<string, unknown>> {
  const args = JSON.stringify(entry.args)
  const shown =
    args.length > MAX_REDACTED_CHARS ? redact(args.slice(0, MAX_REDACTED_CHARS)) : previewOf(entry.args, redact)
  const { choice, scope } = entry
  return {
    tool_call_id: entry.callId,
    tool: entry.tool,
    access: entry.access,
    args_digest: sha256Hex(args),
    args_preview: ellipsize(shown, MAX_PREVIEW_CHARS),
    decision: entry.decision,
    decided_by: entry.decidedBy,
    rule: redact(entry.rule),
    layer: entry.layer,
    profile: entry.profile,
    ...(choice === undefined ? {} : { choice }),
    ...(scope === undefined ? {} : { scope }),
    latency_ms: Math.round(entry.latencyMs),
    status: entry.status,
    duration_ms: Math.round(entry.durationMs),
  }
}

function previewOf(args: AuditEntry["args"], redact: (text: string) => string): string {
  return JSON.stringify(redactArguments(args, redact))
}
