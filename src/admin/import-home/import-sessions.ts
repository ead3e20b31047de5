import { existsSync } from "node:fs"
import { isAbsolute } from "node:path"

import { counted } from "../../base/counted.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { ellipsize } from "../../base/text.ts"
import { errorMessage } from "../../base/system-error.ts"
import { toSessionId, type SessionId } from "../../protocol/identifiers.ts"
import { StoreError, type MessageRow, type SessionStore, type StoredMessage } from "../../state/store.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import { cleanGeneratedTitle } from "../../state/titles.ts"
import type { HomeContext } from "../home-context.ts"
import { AGENT_TITLES, type ForeignAgent, type ForeignHome } from "./foreign-home.ts"
import type { CategoryReport, ImportItem } from "./import-report.ts"
import { readJsonLines } from "./json-lines.ts"
import { claudeCodeTranscripts } from "./transcripts/claude-code.ts"
import { codexTranscripts } from "./transcripts/codex.ts"
import { openclawTranscripts } from "./transcripts/openclaw.ts"
import { scanTranscript, type ScannedTranscript } from "./transcripts/scan-transcript.ts"
import { createMessageAssembler } from "./transcripts/transcript-messages.ts"
import { decodeLine, type TranscriptFile, type TranscriptFormat } from "./transcripts/transcript.ts"

const FORMATS: Readonly<Record<ForeignAgent, TranscriptFormat>> = {
  openclaw: openclawTranscripts,
  "claude-code": claudeCodeTranscripts,
  codex: codexTranscripts,
}

export interface SessionImport extends Pick<HomeContext, "home" | "clock" | "log" | "notify" | "progress"> {
  readonly foreign: ForeignHome
  readonly dryRun: boolean
  readonly redact: (text: string) => string
  readonly signal: AbortSignal
}

/**
 * Imports conversations as sessions with ids that follow from their origin. A second import adds only messages that are new in a
 * transcript, and none to a session that was continued in Hermes. One that was interrupted continues where it stopped.
 */
export async function importSessions(options: SessionImport): Promise<CategoryReport> {
  const { foreign } = options
  const { transcripts, skipped } = FORMATS[foreign.agent].find(foreign.files)
  const items: ImportItem[] = skipped.map(({ what, reason }) => ({ name: what, outcome: "skipped", detail: reason }))
  const totals = { damagedLines: 0, sidechainLines: 0, leftBehind: 0, leftOut: 0 }
  const store = await openStore(options, transcripts.length > 0)
  const bytes = 2 * transcripts.reduce((sum, { size }) => sum + size, 0)
  let done = 0
  const onBytes = (count: number): void => {
    // A sub-agent that waited for its conversation is read again.
    done = Math.min(done + count, bytes)
    options.progress?.({ step: `importing conversations of ${AGENT_TITLES[foreign.agent]}`, done, total: bytes })
  }
  const known = new Set<SessionId>()
  const work: Work = { ...options, format: FORMATS[foreign.agent], store, known, totals, onBytes }
  try {
    let waiting: readonly TranscriptFile[] = transcripts
    // A sub-agent can stand before the conversation that started it.
    for (let found = Infinity; waiting.length > 0 && waiting.length < found;) {
      found = waiting.length
      const postponed: TranscriptFile[] = []
      for (const file of waiting) {
        options.signal.throwIfAborted()
        const item = await importTranscript(file, work)
        if (item === "no-parent") postponed.push(file)
        else if (item !== undefined) items.push(item)
      }
      waiting = postponed
    }
    for (const { path } of waiting)
      items.push({ name: path, outcome: "skipped", detail: "it belongs to a conversation that is not there" })
  } finally {
    options.progress?.(undefined)
    await store?.close()
  }
  return { category: "sessions", items, notes: notesOf(totals) }
}

function openStore(options: SessionImport, isNeeded: boolean): Promise<SessionStore> | undefined {
  const { home, clock, log, notify, dryRun } = options
  const path = home.file("state.db")
  if (!isNeeded || (dryRun && !existsSync(path))) return undefined
  return openSqliteStore({
    path,
    clock,
    log,
    ...(notify !== undefined && { onRepair: notify }),
    readOnly: dryRun,
    leavesNoFiles: dryRun,
  })
}

interface Work extends SessionImport {
  readonly format: TranscriptFormat
  /** Undefined in a dry run for a home without a database. */
  readonly store: SessionStore | undefined
  /** Sessions that exist now, or would after a dry run. */
  readonly known: Set<SessionId>
  readonly totals: { damagedLines: number; sidechainLines: number; leftBehind: number; leftOut: number }
  readonly onBytes: (count: number) => void
}

async function importTranscript(file: TranscriptFile, work: Work): Promise<ImportItem | "no-parent" | undefined> {
  const { foreign, format, signal, onBytes, known, store } = work
  const path = foreign.files.locate(file.path)
  if (path === undefined) return undefined
  try {
    const scanned = await scanTranscript({ path, file, format }, { signal, onBytes })
    if (scanned.isInternal)
      return { name: file.path, outcome: "skipped", detail: "it is work of the program itself, not a conversation" }
    const id = sessionIdOf(foreign.agent, file.id)
    const parent = scanned.parent === undefined ? undefined : sessionIdOf(foreign.agent, scanned.parent)
    if (parent !== undefined && !known.has(parent)) {
      if ((await store?.session(parent)) === undefined) return "no-parent"
      known.add(parent)
    }
    return await importMessages({ file, path, scanned, id, parent }, work)
  } catch (error) {
    // A database that cannot be written fails for every other transcript too.
    if (signal.aborted || (error instanceof StoreError && error.kind !== "exists")) throw error
    return { name: file.path, outcome: "skipped", detail: `it could not be imported: ${errorMessage(error)}` }
  }
}

/** The same conversation always gets the same id. */
function sessionIdOf(agent: ForeignAgent, id: string): SessionId {
  return toSessionId(`${agent}_${/^[A-Za-z0-9-]{1,96}$/u.test(id) ? id : sha256Hex(id).slice(0, 32)}`)
}

interface Transcript {
  readonly file: TranscriptFile
  readonly path: string
  readonly scanned: ScannedTranscript
  readonly id: SessionId
  readonly parent: SessionId | undefined
}

const BATCH_MESSAGES = 200
const BATCH_CHARS = 2_000_000

async function importMessages(transcript: Transcript, work: Work): Promise<ImportItem | undefined> {
  const { file, scanned, id } = transcript
  const { store, known, totals, clock } = work
  const stored = await lastStored(store, id)
  if (stored.kind === "continued")
    return { name: file.path, outcome: "already-there", detail: `${id} was continued in Hermes and stays as it is` }
  const startedAt = scanned.startedAt ?? clock.now() / 1000
  const reader = messagesOf(transcript, work, { startedAt, after: stored.kind === "present" ? stored.last : undefined })
  let exists = stored.kind === "present"
  let title: string | undefined
  let count = 0
  let batch: StoredMessage[] = []
  let chars = 0
  const save = async (): Promise<void> => {
    const messages = batch
    batch = []
    chars = 0
    if (messages.length === 0 || work.dryRun || store === undefined) return
    if (exists) await store.append(id, messages)
    else
      await store.startSession(newSession(transcript, { startedAt, agent: work.foreign.agent }), messages, title ?? "")
    exists = true
  }
  for await (const message of reader.messages) {
    title ??= titleOf(scanned, message, work.redact)
    batch.push(message)
    count += 1
    chars += JSON.stringify(message).length
    if (batch.length >= BATCH_MESSAGES || chars >= BATCH_CHARS) await save()
  }
  await save()
  const { hasFoundLast, leftBehind, leftOut } = reader.outcome()
  if (stored.kind === "present" && !hasFoundLast)
    return {
      name: file.path,
      outcome: "already-there",
      detail: `${id} differs from the transcript now and stays as it is`,
    }
  totals.damagedLines += scanned.damagedLines
  totals.sidechainLines += scanned.sidechainLines
  totals.leftBehind += leftBehind
  totals.leftOut += leftOut
  if (count === 0 && stored.kind === "missing")
    return { name: file.path, outcome: "skipped", detail: "it has no messages" }
  known.add(id)
  const name = (await store?.session(id))?.title ?? title ?? id
  if (count === 0) return { name, outcome: "already-there", detail: id }
  return stored.kind === "present"
    ? { name, outcome: "updated", detail: `${id}, ${counted(count, "new message")}` }
    : { name, outcome: "imported", detail: `${id}, ${counted(count, "message")}` }
}

type LastStored =
  | { readonly kind: "missing" }
  | { readonly kind: "present"; readonly last: string }
  | { readonly kind: "continued" }

async function lastStored(store: SessionStore | undefined, id: SessionId): Promise<LastStored> {
  const row = await store?.session(id)
  if (store === undefined || row === undefined) return { kind: "missing" }
  const origin = (await lastMessage(store, id))?.platformMessageId ?? null
  // A message of Hermes itself has no origin.
  return origin === null || row.endReason !== null ? { kind: "continued" } : { kind: "present", last: origin }
}

/** Without loading the whole session, where the database has a word index. */
async function lastMessage(store: SessionStore, id: SessionId): Promise<MessageRow | undefined> {
  const last = (await store.words.idsOfSession(id)).at(-1)
  if (last === undefined) return (await store.messages(id)).at(-1)
  return (await store.messagesAround(last, 0)).messages.find((row) => row.id === last)
}

interface MessageReader {
  readonly messages: AsyncIterable<StoredMessage>
  /** Valid when all messages have been read. */
  outcome(): { readonly hasFoundLast: boolean; readonly leftBehind: number; readonly leftOut: number }
}

/** The messages of the current branch after the line `after`. */
function messagesOf(
  { file, path, scanned }: Transcript,
  { format, signal, onBytes, redact }: Work,
  { startedAt, after }: { readonly startedAt: number; readonly after: string | undefined },
): MessageReader {
  const assembler = createMessageAssembler({ redact, startedAt })
  let leftBehind = 0
  let isNew = after === undefined
  async function* read(): AsyncGenerator<StoredMessage, void> {
    for await (const line of readJsonLines(path, { signal, onBytes })) {
      const decoded = line.kind === "damaged" ? undefined : decodeLine(format, line.value)
      if (decoded === undefined) continue
      const { link, entries, isSidechain } = decoded
      if (isSidechain === true && file.parent === undefined) continue
      if (!scanned.isCurrent(link)) {
        leftBehind += entries.length
        continue
      }
      const lineId = link?.id ?? `line ${line.number}`
      for (const entry of entries) {
        const completed = assembler.add(entry, lineId)
        if (isNew) yield* completed
      }
      if (lineId === after) {
        assembler.flush()
        isNew = true
      }
    }
    const rest = assembler.flush()
    if (isNew) yield* rest
  }
  return { messages: read(), outcome: () => ({ hasFoundLast: isNew, leftBehind, leftOut: assembler.leftOut() }) }
}

function newSession(
  { scanned, id, parent }: Transcript,
  { startedAt, agent }: { readonly startedAt: number; readonly agent: ForeignAgent },
): Parameters<SessionStore["startSession"]>[0] {
  const { cwd, model } = scanned
  return {
    id,
    // Like sub-agents of Hermes, they are not part of lists and searches.
    source: parent === undefined ? agent : "subagent",
    startedAt,
    ...(parent !== undefined && { parent }),
    ...(cwd !== undefined && isAbsolute(cwd) && PRINTABLE.test(cwd) && { cwd }),
    ...(model !== undefined && MODEL_NAME.test(model) && { model }),
  }
}

const PRINTABLE = /^[^\p{Cc}\p{Cf}\p{Co}\p{Cn}]{1,4096}$/u
const MODEL_NAME = /^[\w./:@+-]{1,120}$/u

const MAX_PROMPT_TITLE = 60

/** Its title, or how the first message of the user begins. */
function titleOf(
  { title }: ScannedTranscript,
  first: StoredMessage,
  redact: (text: string) => string,
): string | undefined {
  const given = title === undefined ? null : cleanGeneratedTitle(redact(title))
  if (given !== null) return given
  if (first.role !== "user" || typeof first.content !== "string") return undefined
  const line = first.content.split("\n").find((text) => text.trim() !== "")
  return cleanGeneratedTitle(ellipsize(line?.trim() ?? "", MAX_PROMPT_TITLE, "…")) ?? undefined
}

function notesOf(totals: Work["totals"]): readonly string[] {
  const notes: readonly [number, string, string][] = [
    [totals.damagedLines, "damaged line", ""],
    [totals.sidechainLines, "line", " of sub-agents inside conversations"],
    [totals.leftBehind, "message", " that you had gone back from"],
    [totals.leftOut, "line", " with a summary, or with a result without its call"],
  ]
  return notes.flatMap(([count, noun, rest]) => (count === 0 ? [] : [`Skipped: ${counted(count, noun)}${rest}.`]))
}
