import type { ConversationChange } from "../app/session/rollback.ts"
import type { Session } from "../app/session/session.ts"
import { assertNever } from "../base/assert-never.ts"
import { asSentence } from "../base/sentence.ts"
import { ellipsize } from "../base/text.ts"
import type { Checkpoints } from "../exec/checkpoints/checkpoints.ts"
import type { Snapshot } from "../exec/checkpoints/snapshot-list.ts"
import type { PickChoice } from "./choice-list.ts"
import { NOTHING_CHOSEN, reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/rollback`: lists the snapshots of this project, shows the changes since one of them, or restores it. */
export const rollbackCommand: SlashCommand = {
  name: "rollback",
  category: "conversation",
  help: "list snapshots of the files, compare with one, or restore it",
  argument: "[N|HASH [FILE] | diff N|HASH [FILE]]",
  idleOnly: true,
  run: listDiffOrRestore,
}

async function listDiffOrRestore(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { app, session, signal } = context
  const checkpoints = await session.checkpoints()
  if (checkpoints === undefined)
    return reply(
      "There are no snapshots here, because the files are not on this machine. Use git there to undo changes.",
    )
  const request = parseRollbackArgument(argument)
  if (request === undefined) return reply(USAGE)
  const snapshots = await checkpoints.list({ limit: MAX_SHOWN, signal })
  if (snapshots.length === 0) return reply(noSnapshotsText(checkpoints, app.config.get("checkpoints.enabled")))
  if (request.kind === "list" && context.pick !== undefined)
    return await pickAndRestore(checkpoints, context.pick, context)
  if (request.kind === "list") return reply(await listText(snapshots, checkpoints, signal))
  const selected = selectSnapshot(snapshots, request.selector)
  if (selected === undefined)
    return reply(`There is no snapshot ${request.selector}; /rollback lists ${snapshots.length}.`)
  const options = { signal, ...(request.file === undefined ? {} : { file: request.file }) }
  if (request.kind === "diff") return reply(await diffText(selected, options, checkpoints))
  if (!(await mayRemove(selected, options, { checkpoints, context }))) return reply("Nothing was changed.")
  return reply(await restore({ ...options, hash: selected.hash }, session))
}

async function pickAndRestore(
  checkpoints: Checkpoints,
  pick: PickChoice,
  context: SlashContext,
): Promise<SlashOutcome> {
  const { rollbackList } = await import("./lists/rollback-list.ts")
  const picked = await pick(rollbackList(checkpoints, context.app))
  if (picked === undefined) return NOTHING_CHOSEN
  const { hash, file } = picked.value
  const options = { signal: context.signal, ...(file === undefined ? {} : { file }) }
  const selected = { hash, short: hash.slice(0, 8) }
  if (!(await mayRemove(selected, options, { checkpoints, context }))) return reply("Nothing was changed.")
  return reply(await restore({ ...options, hash }, context.session))
}

const USAGE =
  "Usage: /rollback, /rollback diff N [FILE], /rollback N or /rollback N FILE. N is a number from the list or the hash of a snapshot."
const MAX_SHOWN = 50
const MAX_LINES = 200
const MAX_PATHS = 15

type RollbackRequest =
  | { readonly kind: "list" }
  | {
      readonly kind: "diff" | "restore"
      /** A number from the list, or the beginning of a hash. */
      readonly selector: string
      readonly file: string | undefined
    }

function parseRollbackArgument(argument: string): RollbackRequest | undefined {
  const text = argument.trim()
  if (text === "" || text === "list") return { kind: "list" }
  const [, diff, selector = "", file] = /^(diff\s+)?(\d{1,6}|[\da-f]{4,64})(?:\s+(\S[^]*))?$/iu.exec(text) ?? []
  if (selector === "") return undefined
  return { kind: diff === undefined ? "restore" : "diff", selector: selector.toLowerCase(), file }
}

/** A number of the list has priority over a hash. A hash is passed on unchecked: the store has more snapshots than the list shows. */
function selectSnapshot(snapshots: readonly Snapshot[], selector: string): SelectedSnapshot | undefined {
  const numbered =
    selector.length <= MAX_DIGITS && /^\d+$/u.test(selector) ? snapshots[Number(selector) - 1] : undefined
  if (numbered !== undefined) return numbered
  return selector.length < MIN_HASH_DIGITS ? undefined : { hash: selector, short: selector.slice(0, 8) }
}

type SelectedSnapshot = Pick<Snapshot, "hash" | "short">

const MAX_DIGITS = 6
const MIN_HASH_DIGITS = 4

function noSnapshotsText(checkpoints: Checkpoints, enabled: boolean): string {
  return enabled
    ? `There are no snapshots of ${checkpoints.root()} yet. One is taken before the first change of each turn.`
    : "Snapshots are turned off. Turn them on with: hermes config set checkpoints.enabled true"
}

/** A restore cannot tell the files of the agent from those that the user has created since, so the user decides. */
async function mayRemove(
  { hash }: SelectedSnapshot,
  options: RestoreOptions,
  { checkpoints, context }: { readonly checkpoints: Checkpoints; readonly context: SlashContext },
): Promise<boolean> {
  if (context.confirm === undefined) return true
  const diff = await checkpoints.diff(hash, options)
  if (!diff.ok || diff.value.added.length === 0) return true
  const { added } = diff.value
  return await context.confirm(
    `This removes ${files(added.length)} that ${added.length === 1 ? "is" : "are"} newer than the snapshot: ${paths(added)}. Continue?`,
  )
}

async function listText(
  snapshots: readonly Snapshot[],
  checkpoints: Checkpoints,
  signal: AbortSignal,
): Promise<string> {
  const width = String(snapshots.length).length
  const [newest] = snapshots
  const since = newest === undefined ? undefined : await checkpoints.diff(newest.hash, { signal })
  const changesAfter = (index: number): string => {
    const next = snapshots[index - 1]
    if (next !== undefined) return changesText(next)
    return since?.ok === true && since.value.files.length > 0 ? files(since.value.files.length) : ""
  }
  return [
    `Snapshots of ${checkpoints.root()}, newest first:`,
    ...snapshots.map((snapshot, index) => {
      return `${String(index + 1).padStart(width)}. ${snapshotLine(snapshot, changesAfter(index))}`
    }),
    "Each one is named after the first change that restoring it takes back.",
    "/rollback diff N shows the changes since then, /rollback N restores all files, /rollback N FILE restores one.",
    ...checkpoints
      .otherRoots()
      .map((other) => `There are also snapshots of ${other}; run hermes checkpoints list in that directory.`),
  ].join("\n")
}

/** `changes` is what changed between this snapshot and the next one, or the files as they are now. */
function snapshotLine({ short, time, reason, files: only }: Snapshot, changes: string): string {
  const shown = only === undefined ? changes : `only ${paths(only)}`
  return `${short}  ${new Date(time * 1000).toLocaleString("sv-SE")}  ${ellipsize(reason, 80)}${shown === "" ? "" : `  (${shown})`}`
}

/** What changed between the previous snapshot and this one. */
function changesText({ filesChanged, insertions, deletions }: Snapshot): string {
  return filesChanged === 0 ? "" : `${files(filesChanged)}, +${insertions} -${deletions}`
}

type RestoreOptions = { readonly file?: string; readonly signal: AbortSignal }

async function diffText(
  selected: SelectedSnapshot,
  options: RestoreOptions,
  checkpoints: Checkpoints,
): Promise<string> {
  const diff = await checkpoints.diff(selected.hash, options)
  if (!diff.ok) return asSentence(diff.error)
  if (diff.value.files.length === 0) return "Nothing has changed since then."
  const lines = printable(diff.value.text).trimEnd().split("\n")
  const isCut = lines.length > MAX_LINES || diff.value.truncated
  return [
    ...lines.slice(0, MAX_LINES),
    ...(isCut ? ["… the rest is not shown; name a file to see its changes."] : []),
    `${files(diff.value.files.length)} changed since ${selected.short}.`,
  ].join("\n")
}

async function restore(request: RestoreOptions & { readonly hash: string }, session: Session): Promise<string> {
  const restored = await session.rollBack(request)
  if (!restored.ok) return asSentence(restored.error)
  const { written, removed, notRestored, kept, undoHash, snapshot, conversation } = restored.value
  const changed = [...written, ...removed.map((path) => `${path} (removed)`)]
  const withReasons = (entries: typeof kept): string => paths(entries.map(({ path, why }) => `${path} (${why})`))
  return [
    changed.length === 0 ? "The files already match this snapshot." : `Restored ${snapshot.short}: ${paths(changed)}.`,
    ...(notRestored.length === 0 ? [] : [`Not restored: ${withReasons(notRestored)}.`]),
    ...(kept.length === 0 ? [] : [`Not covered by snapshots, left as they are: ${withReasons(kept)}.`]),
    ...conversationText(conversation),
    ...(changed.length === 0 ? [] : [`To undo this: /rollback ${undoHash.slice(0, 8)}`]),
  ].join("\n")
}

function conversationText(change: ConversationChange): readonly string[] {
  switch (change.kind) {
    case "unaffected":
      return []
    case "removed": {
      const message = ellipsize(printable(change.text).replaceAll(/\s+/gu, " ").trim(), MAX_MESSAGE_CHARS)
      return [`Your message "${message}" and everything after it were removed from the conversation.`]
    }
    case "restore-undone":
      return [`The conversation did not change: this undid a restore. ${MODEL_INFORMED}`]
    case "unrecorded":
      return [
        `The conversation did not change: an older version took this snapshot and did not record its message. ${MODEL_INFORMED}`,
      ]
    case "compressed":
      return [
        `The conversation did not change: the message of this snapshot is part of a summary now, or belongs to another conversation. ${MODEL_INFORMED}`,
      ]
    case "nothing":
      return [
        `The conversation did not change: the message of this snapshot was removed from it before, or belongs to another conversation. ${MODEL_INFORMED}`,
      ]
    default:
      return assertNever(change)
  }
}

const MAX_MESSAGE_CHARS = 80
const MODEL_INFORMED = "Hermes informs the model about the restored files with your next message."

function paths(names: readonly string[]): string {
  const shown = names.slice(0, MAX_PATHS).map((name) => printable(name).replaceAll("\n", "?"))
  return names.length > MAX_PATHS ? `${shown.join(", ")} and ${names.length - MAX_PATHS} more` : shown.join(", ")
}

function files(count: number): string {
  return `${count} file${count === 1 ? "" : "s"}`
}

/** Replaces control characters, because the contents of a file must not control the terminal. */
function printable(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(/(?![\n\t])\p{Cc}/gu, "?")
}
