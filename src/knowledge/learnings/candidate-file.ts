import { statSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { epochSeconds } from "../../base/clock.ts"
import type { Clock } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"

/** A failure that may become a learning. */
export interface LearningCandidate {
  readonly id: string
  readonly session: string
  readonly tool: string
  /** Tools that do the same kind of work: a call of one may fix the failure of another. */
  readonly family: string
  readonly error: string
  /** The arguments of the failed call as plain words, by name, and as a hash. */
  readonly words: string
  readonly values: Readonly<Record<string, string>>
  readonly argsHash: string
  /** How many more calls of the family may pass until one succeeds. */
  readonly callsLeft: number
  /** What the call that succeeded did differently; absent until one has. */
  readonly change?: string
  /** Epoch seconds. */
  readonly at: number
}

/**
 * Keeps candidates between sessions, for all processes of a home: an error and its fix usually recur in another conversation. Its
 * content is redacted and bounded. Returns failures as messages; never throws.
 */
export interface CandidateFile {
  /** Reads the file only when it has changed. */
  read(): Result<readonly LearningCandidate[]>
  update(
    change: (current: readonly LearningCandidate[]) => readonly LearningCandidate[],
  ): Promise<Result<readonly LearningCandidate[]>>
}

export interface CandidateFileOptions {
  readonly path: string
  readonly clock: Clock
  readonly redact: (text: string) => string
}

const MAX_CANDIDATES = 200
const MAX_AGE_SECONDS = 90 * 86_400
const MAX_BYTES = 4_000_000
const MAX_ERROR_CHARS = 500
const MAX_CHANGE_CHARS = 800
const MAX_CHARS = 300
const MAX_VALUES = 10
const LOCK_WAIT_MS = 2000

export function openCandidateFile({ path, clock, redact }: CandidateFileOptions): CandidateFile {
  let cached: { readonly version: string; readonly candidates: readonly LearningCandidate[] } | undefined
  const read = (): readonly LearningCandidate[] => {
    const version = versionOf(path)
    if (cached?.version !== version) cached = { version, candidates: readCandidates(path) }
    return cached.candidates
  }
  return {
    read: () => {
      try {
        return ok(read())
      } catch (error) {
        return fail(`the candidates for learnings cannot be read: ${explainSystemError(error)}`)
      }
    },
    update: async (change) => {
      try {
        makeDirectories(dirname(path))
        return await withFileLock(`${path}.lock`, { waitMs: LOCK_WAIT_MS }, () => {
          const current = read()
          const next = bounded(change(current), { now: epochSeconds(clock), redact })
          if (next.length > 0 || current.length > 0)
            writeFileAtomic(path, `${JSON.stringify({ candidates: next.map(formatCandidate) })}\n`)
          return ok(next)
        })
      } catch (error) {
        return fail(`the candidates for learnings were not stored: ${explainSystemError(error)}`)
      }
    },
  }
}

function versionOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? "none" : `${stats.ino}:${stats.size}:${stats.mtimeNs}`
}

/** A damaged file counts as empty: its content is only a guess about the future. */
function readCandidates(path: string): readonly LearningCandidate[] {
  try {
    const { bytes } = readRegularFile(path, { maxBytes: MAX_BYTES })
    const content = parseJson(bytes.toString("utf8"))
    const listed = isRecord(content) ? content["candidates"] : undefined
    return Array.isArray(listed) ? listed.flatMap((entry) => parseCandidate(entry) ?? []) : []
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

function parseCandidate(entry: unknown): LearningCandidate | undefined {
  if (!isRecord(entry)) return undefined
  const {
    id,
    session,
    tool,
    family,
    error,
    words,
    values,
    args_hash: argsHash,
    calls_left: callsLeft,
    change,
    at,
  } = entry
  if (typeof id !== "string" || typeof tool !== "string" || typeof error !== "string") return undefined
  return {
    id,
    session: text(session),
    tool,
    family: text(family) || tool,
    error,
    words: text(words),
    values: isRecord(values)
      ? Object.fromEntries(Object.entries(values).map(([name, value]) => [name, text(value)]))
      : {},
    argsHash: text(argsHash),
    callsLeft: typeof callsLeft === "number" ? callsLeft : 0,
    ...(typeof change === "string" && change !== "" ? { change } : {}),
    at: typeof at === "number" ? at : 0,
  }
}

function formatCandidate({ argsHash, callsLeft, ...rest }: LearningCandidate): Readonly<Record<string, unknown>> {
  return { ...rest, args_hash: argsHash, calls_left: callsLeft }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : ""
}

function bounded(
  candidates: readonly LearningCandidate[],
  { now, redact }: { readonly now: number; readonly redact: (text: string) => string },
): readonly LearningCandidate[] {
  const clean = (value: string, max = MAX_CHARS): string => ellipsize(redact(value), max)
  return candidates
    .filter(({ at }) => now - at <= MAX_AGE_SECONDS)
    .slice(-MAX_CANDIDATES)
    .map((candidate) => ({
      ...candidate,
      error: clean(candidate.error, MAX_ERROR_CHARS),
      words: clean(candidate.words),
      values: Object.fromEntries(
        Object.entries(candidate.values)
          .slice(0, MAX_VALUES)
          .map(([name, value]) => [clean(name), clean(value)]),
      ),
      ...(candidate.change === undefined ? {} : { change: clean(candidate.change, MAX_CHANGE_CHARS) }),
    }))
}
