import { isRecord, parseJson } from "../../base/json.ts"
import { errorFingerprint } from "./error-words.ts"

/** An error and its fix. Times are epoch seconds. */
export interface Learning {
  readonly id: string
  readonly pattern: string
  readonly errorType: string
  readonly fix: string
  readonly context: string
  readonly tags: readonly string[]
  readonly createdAt: number
  /** Null until it has helped again. */
  readonly lastUsedAt: number | null
  readonly timesUsed: number
  readonly tool?: string
  /** `auto`: detected by Hermes, not saved by the agent. */
  readonly source?: string
  /** The arguments of the failed call as plain words, to compare with later calls. */
  readonly args?: string
  /** Keys of the line that this version does not know. They are preserved. */
  readonly unknown: Readonly<Record<string, unknown>>
}

/** Parses a line of `learnings.jsonl`; undefined when it is not a learning. Missing and invalid fields get defaults. */
export function parseLearning(line: string): Learning | undefined {
  const record = parseJson(line)
  if (!isRecord(record)) return undefined
  const { id, pattern, fix, error_type, context, tags, created_at, last_used_at, times_used, ...more } = record
  const { tool, source, args, fingerprint: _stored, ...unknown } = more
  if (typeof id !== "string" || typeof pattern !== "string" || typeof fix !== "string" || id === "") return undefined
  return {
    id,
    pattern,
    errorType: text(error_type),
    fix,
    context: text(context),
    tags: Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === "string") : [],
    createdAt: seconds(created_at) ?? 0,
    lastUsedAt: seconds(last_used_at) ?? null,
    timesUsed: typeof times_used === "number" && times_used > 0 ? Math.floor(times_used) : 0,
    ...optional("tool", tool),
    ...optional("source", source),
    ...optional("args", args),
    unknown,
  }
}

export function formatLearning(learning: Learning): string {
  return JSON.stringify({
    id: learning.id,
    pattern: learning.pattern,
    error_type: learning.errorType,
    fix: learning.fix,
    context: learning.context,
    tags: learning.tags,
    created_at: learning.createdAt,
    last_used_at: learning.lastUsedAt,
    times_used: learning.timesUsed,
    ...optional("tool", learning.tool),
    fingerprint: fingerprintOf(learning),
    ...optional("source", learning.source),
    ...optional("args", learning.args),
    ...learning.unknown,
  })
}

/**
 * Learnings with the same fingerprint are the same. Computed when writing, not when reading: reading happens at every start, and a
 * pattern that the user edited by hand must count in its new form.
 */
export function fingerprintOf({ pattern, errorType }: Pick<Learning, "pattern" | "errorType">): string {
  return errorFingerprint(pattern, errorType)
}

/** When the learning last helped, or was created. Its age counts from here. */
export function lastConfirmedAt({ createdAt, lastUsedAt }: Pick<Learning, "createdAt" | "lastUsedAt">): number {
  return Math.max(createdAt, lastUsedAt ?? 0)
}

/** Merges two learnings about the same error: keeps the longer fix, and every field that only one of them has. */
export function mergeLearnings(kept: Learning, other: Learning): Learning {
  const source = kept.source === other.source ? kept.source : undefined
  const { source: _source, ...rest } = kept
  return {
    ...rest,
    fix: other.fix.length > kept.fix.length ? other.fix : kept.fix,
    context: kept.context === "" ? other.context : kept.context,
    tags: [...new Set([...kept.tags, ...other.tags])],
    createdAt: Math.min(kept.createdAt, other.createdAt),
    lastUsedAt: laterOf(kept.lastUsedAt, other.lastUsedAt),
    timesUsed: kept.timesUsed + other.timesUsed,
    ...optional("tool", kept.tool ?? other.tool),
    ...optional("args", kept.args ?? other.args),
    ...optional("source", source),
    unknown: { ...other.unknown, ...kept.unknown },
  }
}

function laterOf(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.max(a, b)
}

function text(value: unknown): string {
  return typeof value === "string" ? value : ""
}

/** Users who edit the file may write a date. */
function seconds(value: unknown): number | undefined {
  const time = typeof value === "string" ? Date.parse(value) / 1000 : value
  return typeof time === "number" && Number.isFinite(time) ? time : undefined
}

function optional<Key extends string>(key: Key, value: unknown): { readonly [K in Key]?: string } {
  const entry: { [K in Key]?: string } = {}
  if (typeof value === "string" && value !== "") entry[key] = value
  return entry
}
