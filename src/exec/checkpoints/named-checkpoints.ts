import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { isNotFound } from "../../base/system-error.ts"
import type { SnapshotDiff, RestoreOutcome, ShadowStore } from "./shadow-store.ts"

/** Checkpoints of a session's workspace that the user or the model saved under a name. */
export interface NamedCheckpoints {
  save(name: string, options: NamedCheckpointOptions): Promise<Result<SavedCheckpoint>>
  list(): readonly SavedCheckpoint[]
  diff(name: string, signal: AbortSignal): Promise<Result<SnapshotDiff>>
  /** Restores the files at once, and the conversation, if requested and saved, at the end of the running turn. */
  restore(name: string, options: NamedCheckpointOptions): Promise<Result<NamedRestore>>
  delete(name: string, signal: AbortSignal): Promise<Result<undefined>>
}

export interface NamedCheckpointOptions {
  readonly includeConversation: boolean
  readonly signal: AbortSignal
}

export interface SavedCheckpoint {
  readonly name: string
  /** Epoch seconds. */
  readonly createdAt: number
  readonly commit: string
  readonly messageCount: number
  readonly withConversation: boolean
}

export interface NamedRestore extends RestoreOutcome {
  readonly commit: string
  readonly conversationRestored: boolean
}

/** Access to the conversation, to save and restore it along with the files. */
export interface ConversationAccess {
  messages(): readonly unknown[]
  todo(): unknown
  /** Truncates the history to the saved messages when the running turn has ended, so that requests keep their prefix. */
  rewind(saved: { readonly messageCount: number; readonly messages: readonly unknown[]; readonly todo: unknown }): void
}

export interface NamedCheckpointsOptions {
  readonly store: ShadowStore
  /** The project root to save. */
  readonly root: () => string
  readonly sessionId: () => string
  /** The sessions that this conversation had before its compressions. Their checkpoints can still be used. */
  readonly earlierSessionIds?: (() => readonly string[]) | undefined
  readonly clock: Clock
  readonly conversation?: ConversationAccess
}

/** Name of the checkpoint saved before each restore; restoring it undoes the restore. */
const UNDO_CHECKPOINT = "pre-restore"

export function createNamedCheckpoints({
  store,
  root: currentRoot,
  sessionId,
  earlierSessionIds = () => [],
  clock,
  conversation,
}: NamedCheckpointsOptions): NamedCheckpoints {
  const directory = (id = sessionId()): string => join(store.paths.directory, directoryName(id))
  /** Newest first. A name that was used again after a compression is the newer checkpoint. */
  const all = (): readonly CheckpointRecord[] => {
    const records = [...new Set([sessionId(), ...earlierSessionIds()])].flatMap((id) => readRecords(directory(id)))
    return [...Map.groupBy(records, ({ name }) => name).values()]
      .flatMap((same) => same.slice(0, 1))
      .toSorted((a, b) => b.createdAt - a.createdAt)
  }
  const find = (name: string): Result<CheckpointRecord> => {
    if (!NAME.test(name)) return fail(NAME_RULE)
    const saved = all()
    const found = saved.find((record) => record.name === name)
    return found === undefined ? fail(unknownNameText(name, saved)) : ok(found)
  }
  const saveAs = async (
    name: string,
    { includeConversation, ...options }: NamedCheckpointOptions & { readonly fromSnapshot?: string },
  ) => {
    const root = currentRoot()
    const commit = await store.saveNamed(root, keyOf({ name, sessionId: sessionId() }), {
      ...options,
      reason: `checkpoint ${name}`,
    })
    const messages = conversation?.messages() ?? []
    const saved: CheckpointRecord = {
      name,
      createdAt: epochSeconds(clock),
      sessionId: sessionId(),
      messageCount: messages.length,
      messages: includeConversation && conversation !== undefined ? messages : undefined,
      todo: conversation?.todo(),
      cwd: root,
      commit,
    }
    writeRecord(directory(), saved)
    return saved
  }
  return {
    save: async (name, options) => (NAME.test(name) ? ok(summaryOf(await saveAs(name, options))) : fail(NAME_RULE)),
    list: () => all().map(summaryOf),
    diff: async (name, signal) => {
      const saved = find(name)
      return saved.ok ? await store.diff(saved.value.cwd, saved.value.commit, { signal }) : saved
    },
    restore: async (name, options) => {
      const saved = find(name)
      if (!saved.ok) return saved
      const { commit, cwd, messages, messageCount, todo, sessionId: savedIn } = saved.value
      const { signal } = options
      const restored = await store.restore(cwd, commit, { signal, undoReason: UNDO_CHECKPOINT })
      if (!restored.ok) return restored
      await saveAs(UNDO_CHECKPOINT, { includeConversation: true, signal, fromSnapshot: restored.value.undoHash })
      // After a compression the history is another one, and the saved count means nothing in it.
      const rewound =
        options.includeConversation && messages !== undefined && conversation !== undefined && savedIn === sessionId()
      if (rewound) conversation.rewind({ messageCount, messages, todo })
      return ok({ ...restored.value, commit, conversationRestored: rewound })
    },
    delete: async (name, signal) => {
      const saved = find(name)
      if (!saved.ok) return saved
      await store.deleteNamed(saved.value.cwd, keyOf(saved.value), signal)
      rmSync(join(directory(saved.value.sessionId), `${name}.json`), { force: true })
      return ok(undefined)
    },
  }
}

function keyOf({ name, sessionId }: Pick<CheckpointRecord, "name" | "sessionId">): string {
  return `${sessionId}/${name}`
}

const NAME = /^[A-Za-z0-9._-]{1,64}$/u
const NAME_RULE = "a checkpoint's name has 1 to 64 letters, digits, dots, dashes or underscores"

interface CheckpointRecord {
  readonly name: string
  readonly createdAt: number
  readonly sessionId: string
  readonly messageCount: number
  readonly messages: readonly unknown[] | undefined
  readonly todo: unknown
  readonly cwd: string
  readonly commit: string
}

function summaryOf({ name, createdAt, commit, messageCount, messages }: CheckpointRecord): SavedCheckpoint {
  return { name, createdAt, commit, messageCount, withConversation: messages !== undefined }
}

function unknownNameText(name: string, saved: readonly CheckpointRecord[]): string {
  const names = saved.map((entry) => entry.name).join(", ")
  return `there is no checkpoint ${name} in this session; ${names === "" ? "none was saved" : `saved: ${names}`}`
}

/** Escapes the session id: imported sessions may have any text as id, and `store` is the repository's directory. */
function directoryName(sessionId: string): string {
  const safe = encodeURIComponent(sessionId).slice(0, 200)
  return safe.startsWith(".") || safe === "store" ? `_${safe}` : safe
}

function writeRecord(directory: string, saved: CheckpointRecord): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const record = {
    name: saved.name,
    created_at: saved.createdAt,
    session_id: saved.sessionId,
    message_count: saved.messageCount,
    ...(saved.messages === undefined ? {} : { messages: saved.messages }),
    todo: saved.todo ?? null,
    cwd: saved.cwd,
    commit: saved.commit,
  }
  writeFileAtomic(join(directory, `${saved.name}.json`), `${JSON.stringify(record)}\n`)
}

/** Newest first. */
function readRecords(directory: string): readonly CheckpointRecord[] {
  const saved = fileNamesIn(directory).flatMap((name) => {
    const entry = name.endsWith(".json") ? readRecord(join(directory, name)) : undefined
    return entry === undefined ? [] : [entry]
  })
  return saved.toSorted((a, b) => b.createdAt - a.createdAt)
}

function fileNamesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

function readRecord(path: string): CheckpointRecord | undefined {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
  const record = parseJson(text)
  if (!isRecord(record)) return undefined
  const { name, created_at: createdAt, session_id: sessionId, message_count: messageCount, cwd, commit } = record
  if (typeof name !== "string" || typeof createdAt !== "number" || typeof sessionId !== "string") return undefined
  if (typeof messageCount !== "number" || typeof cwd !== "string" || typeof commit !== "string") return undefined
  const messages: readonly unknown[] | undefined = Array.isArray(record["messages"]) ? record["messages"] : undefined
  return { name, createdAt, sessionId, messageCount, messages, todo: record["todo"] ?? undefined, cwd, commit }
}
