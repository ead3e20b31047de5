import { gitOutput } from "./git-command.ts"
import type { StorePaths } from "./store-files.ts"

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
  const format = `--format=${["%x1e%H", "%ct", "%s", "%(trailers:key=Turn,valueonly,separator=)", "%(trailers:key=Session,valueonly,separator=)", ""].join("%x1f")}`
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
  const [hash = "", time = "0", reason = "", turn = "", session = "", stat = ""] = record.split("\u001F")
  return {
    hash,
    short: hash.slice(0, 8),
    time: Number(time),
    reason,
    ...(turn.trim() === "" ? {} : { turn: turn.trim() }),
    ...(session.trim() === "" ? {} : { session: session.trim() }),
    filesChanged: parseCount(stat, /(\d+) files? changed/u),
    insertions: parseCount(stat, /(\d+) insertion/u),
    deletions: parseCount(stat, /(\d+) deletion/u),
  }
}

function parseCount(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0)
}

/** Formats the body of a commit object: the reason is the subject line, turn and session are trailers. */
export function commitText(commit: {
  readonly tree: string
  readonly parent: string | undefined
  /** Gives identical snapshots of two workspaces different hashes, because each workspace has its own history. */
  readonly project: string
  readonly reason: string
  readonly turn?: string | undefined
  readonly session?: string | undefined
  readonly seconds: number
}): string {
  const author = `Hermes <hermes@localhost> ${Math.floor(commit.seconds)} +0000`
  const trailers = [
    `Project: ${commit.project}`,
    ...(commit.turn === undefined ? [] : [`Turn: ${oneLine(commit.turn)}`]),
    ...(commit.session === undefined ? [] : [`Session: ${oneLine(commit.session)}`]),
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
