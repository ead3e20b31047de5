import { randomHex } from "../base/random-and-hash.ts"
import { assertNever } from "../base/assert-never.ts"
import type { Clock } from "../base/clock.ts"
import { localStamp } from "../base/local-stamp.ts"
import { toSessionId } from "../protocol/identifiers.ts"
import type { SessionId } from "../protocol/identifiers.ts"

export type SessionIdKind = "terminal" | "gateway" | "background"

/**
 * Creates an id from the local time and 24 (gateway: 32) random bits. Collisions are rare but possible, so a caller whose insert
 * fails with `exists` must retry with another id.
 */
export function newSessionId(clock: Clock, kind: SessionIdKind): SessionId {
  const stamp = localStamp(clock.now())
  switch (kind) {
    case "terminal":
      return toSessionId(`${stamp.date}_${stamp.time}_${randomHex(3)}`)
    case "gateway":
      return toSessionId(`${stamp.date}_${stamp.time}_${randomHex(4)}`)
    case "background":
      return toSessionId(`bg_${stamp.time}_${randomHex(3)}`)
    default:
      return assertNever(kind)
  }
}

/** The id for the session of one run of a scheduled job. */
export function cronSessionId(clock: Clock, job: string): SessionId {
  const stamp = localStamp(clock.now())
  return toSessionId(`cron_${job}_${stamp.date}_${stamp.time}`)
}

/** The kind of an existing id, for example for a branch, which gets an id of the same kind as its parent. */
export function sessionIdKindOf(id: SessionId): SessionIdKind {
  if (id.startsWith("bg_")) return "background"
  return /_[0-9a-f]{8}$/u.test(id) ? "gateway" : "terminal"
}
