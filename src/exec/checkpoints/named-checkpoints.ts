import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { isNotFound } from "../../base/system-error.ts"
import type { Difference, Restored, ShadowStore } from "./shadow-store.ts"

/** States of a session's workspace that somebody gave a name. */
export interface NamedCheckpoints {
  save(name: string, options: NamedOptions): Promise<Result<SavedCheckpoint>>
  list(): readonly SavedCheckpoint[]
  diff(name: string, signal: AbortSignal): Promise<Result<Difference>>
  /** Files first; then, where it was asked for and saved, the conversation, at the end of the running turn. */
  restore(name: string, options: NamedOptions): Promise<Result<NamedRestore>>
  delete(name: string, signal: AbortSignal): Promise<Result<undefined>>
}

export interface NamedOptions {
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

export interface NamedRestore extends Restored {
  readonly commit: string
  readonly conversationRestored: boolean
}

/** What a checkpoint may know of the conversation; without it only files are saved. */
export interface ConversationAccess {
  messages(): readonly unknown[]
  todo(): unknown
  /** Cuts the history to what was saved, when the running turn has ended; what is sent to the model stays a prefix. */
  rewind(saved: { readonly messageCount: number; readonly messages: readonly unknown[]; readonly todo: unknown }): void
}

export interface NamedCheckpointParts {
  readonly store: ShadowStore
  /** The project root that is saved. */
  readonly root: () => string
  readonly sessionId: () => string
  readonly clock: Clock
  readonly conversation?: ConversationAccess
}

/** Taken before each restore, so that restoring it undoes the restore. */
const BEFORE_RESTORE = "pre-restore"

export function createNamedCheckpoints(parts: NamedCheckpointParts): NamedCheckpoints {
  const { store } = parts
  const folder = (): string => join(store.place.directory, folderName(parts.sessionId()))
  const keyOf = (name: string): string => `${parts.sessionId()}/${name}`
  const known = (name: string): Result<Saved> => {
    if (!NAME.test(name)) return fail(NAME_RULE)
    const saved = readSaved(join(folder(), `${name}.json`))
    return saved === undefined ? fail(unknownText(name, listed(folder()))) : ok(saved)
  }
  const keep = async (name: string, { includeConversation, signal, of }: NamedOptions & { readonly of?: string }) => {
    const root = parts.root()
    const reason = `checkpoint ${name}`
    const commit = await store.keep(root, keyOf(name), { reason, signal, ...(of === undefined ? {} : { of }) })
    const messages = parts.conversation?.messages() ?? []
    const saved: Saved = {
      name,
      createdAt: epochSeconds(parts.clock),
      sessionId: parts.sessionId(),
      messageCount: messages.length,
      messages: includeConversation && parts.conversation !== undefined ? messages : undefined,
      todo: parts.conversation?.todo(),
      cwd: root,
      commit,
    }
    writeSaved(folder(), saved)
    return saved
  }
  return {
    save: async (name, options) => (NAME.test(name) ? ok(summaryOf(await keep(name, options))) : fail(NAME_RULE)),
    list: () => listed(folder()).map(summaryOf),
    diff: async (name, signal) => {
      const saved = known(name)
      return saved.ok ? await store.diff(saved.value.cwd, saved.value.commit, { signal }) : saved
    },
    restore: async (name, options) => {
      const saved = known(name)
      if (!saved.ok) return saved
      const { commit, cwd, messages, messageCount, todo } = saved.value
      const { signal } = options
      const restored = await store.restore(cwd, commit, { signal, before: BEFORE_RESTORE })
      if (!restored.ok) return restored
      await keep(BEFORE_RESTORE, { includeConversation: true, signal, of: restored.value.before })
      const rewound = options.includeConversation && messages !== undefined && parts.conversation !== undefined
      if (rewound) parts.conversation.rewind({ messageCount, messages, todo })
      return ok({ ...restored.value, commit, conversationRestored: rewound })
    },
    delete: async (name, signal) => {
      const saved = known(name)
      if (!saved.ok) return saved
      await store.drop(saved.value.cwd, keyOf(name), signal)
      rmSync(join(folder(), `${name}.json`), { force: true })
      return ok(undefined)
    },
  }
}

const NAME = /^[A-Za-z0-9._-]{1,64}$/u
const NAME_RULE = "a checkpoint's name has 1 to 64 letters, digits, dots, dashes or underscores"

interface Saved {
  readonly name: string
  readonly createdAt: number
  readonly sessionId: string
  readonly messageCount: number
  readonly messages: readonly unknown[] | undefined
  readonly todo: unknown
  readonly cwd: string
  readonly commit: string
}

function summaryOf({ name, createdAt, commit, messageCount, messages }: Saved): SavedCheckpoint {
  return { name, createdAt, commit, messageCount, withConversation: messages !== undefined }
}

function unknownText(name: string, saved: readonly Saved[]): string {
  const names = saved.map((entry) => entry.name).join(", ")
  return `there is no checkpoint ${name} in this session; ${names === "" ? "none was saved" : `saved: ${names}`}`
}

/** Ids of foreign sessions are any text. */
function folderName(sessionId: string): string {
  const safe = encodeURIComponent(sessionId).slice(0, 200)
  return safe.startsWith(".") || safe === "store" ? `_${safe}` : safe
}

function writeSaved(folder: string, saved: Saved): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
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
  writeFileAtomic(join(folder, `${saved.name}.json`), `${JSON.stringify(record)}\n`)
}

/** Newest first. */
function listed(folder: string): readonly Saved[] {
  const saved = namesIn(folder).flatMap((name) => {
    const entry = name.endsWith(".json") ? readSaved(join(folder, name)) : undefined
    return entry === undefined ? [] : [entry]
  })
  return saved.toSorted((a, b) => b.createdAt - a.createdAt)
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

function readSaved(path: string): Saved | undefined {
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
