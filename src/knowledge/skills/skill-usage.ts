import { join } from "node:path"

import { assertNever } from "../../base/assert-never.ts"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { readRegularFile } from "../../base/regular-file.ts"

/** The record of one skill in `skills/.usage.json`, which the Python edition shares. */
export interface SkillUsage {
  readonly use_count: number
  readonly view_count: number
  readonly patch_count: number
  readonly last_used_at: string | null
  readonly last_viewed_at: string | null
  readonly last_patched_at: string | null
  readonly created_at: string | null
  readonly created_by: string | null
  readonly state: "active" | "stale" | "archived"
  readonly pinned: boolean
  readonly archived_at: string | null
  readonly absorbed_into: string | null
}

export type UsageEvent =
  | { readonly kind: "used" | "viewed" | "patched" | "created" }
  | { readonly kind: "deleted"; readonly absorbedInto: string }

const FILE = ".usage.json"
const MAX_BYTES = 5_000_000
const LOCK_WAIT_MS = 2000

/** Records that a skill was used. Best effort: a failure never disturbs the call that caused it. */
export async function recordUsage(
  skillsRoot: string,
  { name, event, clock }: { readonly name: string; readonly event: UsageEvent; readonly clock: Clock },
): Promise<void> {
  try {
    await withFileLock(join(skillsRoot, `${FILE}.lock`), { waitMs: LOCK_WAIT_MS }, () => {
      const all = readAll(skillsRoot)
      const now = new Date(clock.now()).toISOString()
      const former = isRecord(all[name]) ? all[name] : { created_at: now }
      const next = { ...all, [name]: { ...NEW_RECORD, ...former, ...changeFor(event, former, now) } }
      writeFileAtomic(join(skillsRoot, FILE), `${JSON.stringify(next, null, 2)}\n`)
    })
  } catch {
    // Statistics are not worth a failed call.
  }
}

/** Pinned skills are never deleted by the agent. */
export function isPinned(skillsRoot: string, name: string): boolean {
  const record = readAll(skillsRoot)[name]
  return isRecord(record) && record["pinned"] === true
}

const NEW_RECORD: SkillUsage = {
  use_count: 0,
  view_count: 0,
  patch_count: 0,
  last_used_at: null,
  last_viewed_at: null,
  last_patched_at: null,
  created_at: null,
  created_by: null,
  state: "active",
  pinned: false,
  archived_at: null,
  absorbed_into: null,
}

function changeFor(event: UsageEvent, former: Readonly<Record<string, unknown>>, now: string): object {
  const count = (field: string): number => (typeof former[field] === "number" ? former[field] : 0) + 1
  switch (event.kind) {
    case "used":
      return { use_count: count("use_count"), last_used_at: now, state: "active" }
    case "viewed":
      return { view_count: count("view_count"), last_viewed_at: now, state: "active" }
    case "patched":
      return { patch_count: count("patch_count"), last_patched_at: now, state: "active" }
    case "created":
      return { created_at: now, created_by: "agent", state: "active", archived_at: null, absorbed_into: null }
    case "deleted":
      return { state: "archived", archived_at: now, absorbed_into: event.absorbedInto }
    default:
      return assertNever(event)
  }
}

function readAll(skillsRoot: string): Readonly<Record<string, unknown>> {
  try {
    const { bytes } = readRegularFile(join(skillsRoot, FILE), { maxBytes: MAX_BYTES })
    const value = parseJson(bytes.toString("utf8"))
    return isRecord(value) ? value : {}
  } catch {
    // Nothing has been recorded yet.
    return {}
  }
}
