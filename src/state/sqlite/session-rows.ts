import { scrubSurrogates } from "../../base/text.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { StoreError } from "../store.ts"
import type { NewSession, SessionRevision, SessionRow, TotalsDelta } from "../store.ts"
import type { Database } from "./connection.ts"
import { jsonObject, number, numberOrNull, sessionId, sessionIdOrNull, text, textOrNull } from "./row-values.ts"
import type { Row } from "./row-values.ts"

/** Throws `exists` when the id is taken, so that the caller can retry with another one. */
export function insertSession(db: Database, session: NewSession): void {
  if (!insertIfMissing(db, withRelation(db, session))) {
    throw new StoreError("exists", `A session with the id ${session.id} already exists. Use another id.`)
  }
}

export function ensureSession(db: Database, session: NewSession): void {
  insertIfMissing(db, withRelation(db, session))
}

/** Does nothing when the session has already ended. */
export function endSession(
  db: Database,
  end: { readonly id: SessionId; readonly reason: string; readonly at: number },
): void {
  db.run(
    "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL",
    end.at,
    end.reason,
    end.id,
  )
}

export function reopenSession(db: Database, id: SessionId): void {
  db.run("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", id)
}

export function readRevision(db: Database, id: SessionId): SessionRevision | undefined {
  const row = db.get("SELECT message_count, rewind_count, end_reason FROM sessions WHERE id = ?", id)
  if (row === undefined) return undefined
  return {
    messageCount: number(row, "message_count"),
    rewinds: number(row, "rewind_count"),
    continued: textOrNull(row, "end_reason") === "compression",
  }
}

export function requireNotContinued(db: Database, id: SessionId): void {
  if (readRevision(db, id)?.continued === true)
    throw new StoreError("moved", `Session ${id} was compressed and continued as another session.`)
}

export function requireRevision(db: Database, id: SessionId, since: SessionRevision): void {
  const now = readRevision(db, id)
  if (now?.messageCount !== since.messageCount || now.rewinds !== since.rewinds || now.continued !== since.continued)
    throw new StoreError("moved", `Session ${id} was changed by another process.`)
}

export function selectSession(db: Database, id: SessionId): SessionRow | undefined {
  const row = db.get("SELECT * FROM sessions WHERE id = ?", id)
  return row === undefined ? undefined : toSessionRow(row)
}

export function setModel(db: Database, id: SessionId, model: string): void {
  db.run("UPDATE sessions SET model = ? WHERE id = ?", model, id)
}

export function setDirectory(db: Database, id: SessionId, cwd: string): void {
  db.run("UPDATE sessions SET cwd = ? WHERE id = ?", cwd, id)
}

export function setSystemPrompt(
  db: Database,
  { id, prompt, modelConfig }: { readonly id: SessionId; readonly prompt: string } & Pick<SessionRow, "modelConfig">,
): void {
  const row = db.get("SELECT model_config FROM sessions WHERE id = ?", id)
  if (row === undefined) return
  const merged = scrubSurrogates(JSON.stringify({ ...jsonObject(row, "model_config"), ...modelConfig }))
  db.run("UPDATE sessions SET system_prompt = ?, model_config = ? WHERE id = ?", scrubSurrogates(prompt), merged, id)
}

export interface TotalsChange {
  readonly id: SessionId
  readonly totals: TotalsDelta
  /** `add` adds to the totals (terminal); `set` replaces them with the count of the gateway. */
  readonly mode: "add" | "set"
  readonly at: number
}

/** Creates the session with an unknown source when it is missing, so that no usage is lost. */
export function changeTotals(db: Database, change: TotalsChange): void {
  const { id, totals, mode } = change
  ensureSession(db, { id, source: "unknown", startedAt: change.at })
  const count = (column: string): string =>
    mode === "add" ? `${column} = COALESCE(${column}, 0) + ?` : `${column} = ?`
  const cost = (column: string): string =>
    mode === "add" ? `${column} = COALESCE(${column} + ?1, ${column}, ?1)` : `${column} = COALESCE(?1, ${column})`
  const { usage } = totals
  db.run(
    `UPDATE sessions SET ${count("input_tokens")}, ${count("output_tokens")}, ${count("cache_read_tokens")},
       ${count("cache_write_tokens")}, ${count("reasoning_tokens")}, ${
         // `set` without a count keeps the stored one.
         mode === "add" ? count("api_call_count") : "api_call_count = COALESCE(?, api_call_count)"
       },
       model = COALESCE(model, ?), billing_provider = COALESCE(billing_provider, ?),
       billing_base_url = COALESCE(billing_base_url, ?), billing_mode = COALESCE(billing_mode, ?),
       cost_status = ${
         // A single call without a price makes the total incomplete, so the status stays `unknown`.
         mode === "add"
           ? "CASE WHEN cost_status = 'unknown' THEN cost_status ELSE COALESCE(?, cost_status) END"
           : "COALESCE(?, cost_status)"
       }, cost_source = COALESCE(?, cost_source),
       pricing_version = COALESCE(?, pricing_version)
     WHERE id = ?`,
    usage.input,
    usage.output,
    usage.cacheRead,
    usage.cacheWrite,
    usage.reasoning,
    totals.apiCalls ?? (mode === "add" ? 0 : null),
    totals.model ?? null,
    totals.billingProvider ?? null,
    totals.billingBaseUrl ?? null,
    totals.billingMode ?? null,
    totals.costStatus ?? null,
    totals.costSource ?? null,
    totals.pricingVersion ?? null,
    id,
  )
  // A cost stays NULL until a price is known: zero would mean that the call was free.
  const figures = { estimated_cost_usd: totals.estimatedCostUsd, actual_cost_usd: totals.actualCostUsd }
  for (const [column, figure] of Object.entries(figures)) {
    if (figure !== undefined) db.run(`UPDATE sessions SET ${cost(column)} WHERE id = ?2`, figure, id)
  }
}

/**
 * Marks a child as a delegate unless it is a continuation or a branch. Later Python versions do the same, and lists must not show it
 * before they do.
 */
function withRelation(db: Database, session: NewSession): NewSession {
  const { parent, modelConfig } = session
  if (parent === undefined) return session
  if (modelConfig?.["_branched_from"] !== undefined || modelConfig?.["_delegate_from"] !== undefined) return session
  const row = db.get("SELECT end_reason, ended_at FROM sessions WHERE id = ?", parent)
  const end = row === undefined ? null : numberOrNull(row, "ended_at")
  const continues = row !== undefined && textOrNull(row, "end_reason") === "compression" && end !== null
  if (continues && session.startedAt >= end) return session
  return { ...session, modelConfig: { ...modelConfig, _delegate_from: parent } }
}

function insertIfMissing(db: Database, session: NewSession): boolean {
  const result = db.run(
    `INSERT INTO sessions(id, source, user_id, model, model_config, system_prompt, parent_session_id, started_at, cwd)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING`,
    session.id,
    session.source,
    session.userId ?? null,
    session.model ?? null,
    session.modelConfig === undefined ? null : scrubSurrogates(JSON.stringify(session.modelConfig)),
    session.systemPrompt === undefined ? null : scrubSurrogates(session.systemPrompt),
    session.parent ?? null,
    session.startedAt,
    session.cwd ?? null,
  )
  return result.changes > 0
}

function toSessionRow(row: Row): SessionRow {
  return {
    id: sessionId(row),
    source: text(row, "source"),
    userId: textOrNull(row, "user_id"),
    model: textOrNull(row, "model"),
    modelConfig: jsonObject(row, "model_config"),
    systemPrompt: textOrNull(row, "system_prompt"),
    parent: sessionIdOrNull(row, "parent_session_id"),
    startedAt: number(row, "started_at"),
    endedAt: numberOrNull(row, "ended_at"),
    endReason: textOrNull(row, "end_reason"),
    messageCount: number(row, "message_count"),
    toolCallCount: number(row, "tool_call_count"),
    usage: {
      input: number(row, "input_tokens"),
      output: number(row, "output_tokens"),
      cacheRead: number(row, "cache_read_tokens"),
      cacheWrite: number(row, "cache_write_tokens"),
      reasoning: number(row, "reasoning_tokens"),
    },
    title: textOrNull(row, "title"),
    billingProvider: textOrNull(row, "billing_provider"),
    billingBaseUrl: textOrNull(row, "billing_base_url"),
    billingMode: textOrNull(row, "billing_mode"),
    estimatedCostUsd: numberOrNull(row, "estimated_cost_usd"),
    actualCostUsd: numberOrNull(row, "actual_cost_usd"),
    costStatus: textOrNull(row, "cost_status"),
    costSource: textOrNull(row, "cost_source"),
    pricingVersion: textOrNull(row, "pricing_version"),
    apiCallCount: number(row, "api_call_count"),
    cwd: textOrNull(row, "cwd"),
    archived: number(row, "archived") !== 0,
  }
}
