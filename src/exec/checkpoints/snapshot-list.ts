import { parseJson } from "../../base/json.ts"
import { MESSAGE_TRAILER, parseMessageTrailer } from "./commit-trailers.ts"
import { gitOutput } from "./git-command.ts"
import type { StorePaths } from "./store-files.ts"

/** Why a snapshot is taken, stored with it. */
export interface SnapshotReason {
  readonly reason: string
  readonly turn?: string | undefined
  readonly session?: string | undefined
  /** Timestamp of the user message that began the turn. */
  readonly message?: number | undefined
}

/** One snapshot as listed to the user. */
export interface Snapshot {
  readonly hash: string
  readonly short: string
  /** Epoch seconds. */
  readonly time: number
  readonly reason: string
  /** The turn of the conversation that it was taken in; absent when it was not taken by a session. */
  readonly turn?: string
  readonly session?: string
  /** Timestamps of the user messages whose turns began with the files in this state. Empty for one that a restore took, and for old ones. */
  readonly precedes: readonly number[]
  /** The only files that it contains, as paths below the root; absent for a snapshot of the whole directory. */
  readonly files?: readonly string[]
  /** Compared to the previous snapshot; 0 for the first. */
  readonly filesChanged: number
  readonly insertions: number
  readonly deletions: number
}

/** Newest first. */
export async function listSnapshots(
  paths: StorePaths,
  head: string,
  options: { readonly limit: number; readonly signal: AbortSignal },
): Promise<readonly Snapshot[]> {
  const format = `--format=${["%x1e%H", "%ct", "%s", "%(trailers:key=Turn,valueonly,separator=)", "%(trailers:key=Session,valueonly,separator=)", MESSAGE_TRAILER, "%(trailers:key=File,valueonly,separator=%x1d)", ""].join("%x1f")}`
  const output = await gitOutput(
    paths,
    ["log", "--first-parent", `--max-count=${options.limit}`, "--shortstat", "--ignore-submodules=all", format, head],
    { signal: options.signal },
  )
  return output
    .toString("utf8")
    .split("\u001E")
    .filter((record) => record.trim() !== "")
    .map(parseRecord)
}

function parseRecord(record: string): Snapshot {
  const [hash = "", time = "0", reason = "", turn = "", session = "", message = "", files = "", stat = ""] =
    record.split("\u001F")
  return {
    hash,
    short: hash.slice(0, 8),
    time: Number(time),
    reason,
    ...(turn.trim() === "" ? {} : { turn: turn.trim() }),
    ...(session.trim() === "" ? {} : { session: session.trim() }),
    precedes: parseMessageTrailer(message),
    ...(files.trim() === "" ? {} : { files: files.split("\u001D").flatMap(parseFileTrailer) }),
    filesChanged: parseCount(stat, /(\d+) files? changed/u),
    insertions: parseCount(stat, /(\d+) insertion/u),
    deletions: parseCount(stat, /(\d+) deletion/u),
  }
}

function parseFileTrailer(text: string): readonly string[] {
  const file = parseJson(text.trim())
  return typeof file === "string" ? [file] : []
}

function parseCount(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0)
}

/** Formats the body of a commit object: the reason is the subject line, turn, session and user message are trailers. */
export function commitText(commit: {
  readonly tree: string
  readonly parent: string | undefined
  /** Gives identical snapshots of two workspaces different hashes, because each workspace has its own history. */
  readonly project: string
  readonly reason: string
  readonly turn?: string | undefined
  readonly session?: string | undefined
  /** Timestamp of the user message that began the turn. */
  readonly message?: number | undefined
  /** For a snapshot of single files: their paths below the root. */
  readonly files?: readonly string[]
  readonly seconds: number
}): string {
  const author = `Hermes <hermes@localhost> ${Math.floor(commit.seconds)} +0000`
  const trailers = [
    `Project: ${commit.project}`,
    ...(commit.turn === undefined ? [] : [`Turn: ${oneLine(commit.turn)}`]),
    ...(commit.session === undefined ? [] : [`Session: ${oneLine(commit.session)}`]),
    ...(commit.message === undefined ? [] : [`Message: ${commit.message}`]),
    ...(commit.files ?? []).map((file) => `File: ${JSON.stringify(file)}`),
  ]
  return [
    `tree ${commit.tree}`,
    ...(commit.parent === undefined ? [] : [`parent ${commit.parent}`]),
    `author ${author}`,
    `committer ${author}`,
    "",
    oneLine(commit.reason) || "checkpoint",
    "",
    ...trailers,
    "",
  ].join("\n")
}

const MAX_LINE_CHARS = 200

function oneLine(text: string): string {
  return text
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, MAX_LINE_CHARS)
}
