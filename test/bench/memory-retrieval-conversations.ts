/** `node test/bench/memory-retrieval-conversations.ts [--tuning]`: recall and speed of `session_search` over months of conversations. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"

import { systemClock } from "../../src/base/clock.ts"
import { createLexicon } from "../../src/knowledge/semantic-search/lexicon.ts"
import { createSemanticSearch } from "../../src/knowledge/semantic-search/semantic-search.ts"
import { toSessionId } from "../../src/protocol/identifiers.ts"
import type { Message } from "../../src/protocol/message.ts"
import { openSemanticIndex } from "../../src/state/sqlite/semantic-index/semantic-index.ts"
import { openSqliteStore } from "../../src/state/sqlite/open-store.ts"
import type { SessionStore } from "../../src/state/store.ts"
import type { SessionsPort } from "../../src/toolkit/ports/sessions.ts"
import { parseSearchRequest } from "../../src/tools/session-search/search-request.ts"
import { searchPastSessions } from "../../src/tools/session-search/search-sessions.ts"
import { seededRandom } from "../support/seeded-random.ts"
import { HELD_OUT_SET, TUNING_SET } from "./memory-retrieval-conversations-corpus.ts"
import type { ConversationSet } from "./memory-retrieval-conversations-corpus.ts"
import { generateConversations } from "./memory-retrieval-conversations-generator.ts"
import type { GeneratedQuestion, GeneratedSession } from "./memory-retrieval-conversations-generator.ts"
import { median } from "./measurement.ts"
import type { Measurement, Row } from "./measurement.ts"

const SEED = 20_261_115
const HITS = 10
const WINDOW = 5

/** Recall of the messages that answer questions; the floor is FTS5 with the words of the question joined by OR. */
export const memoryConversations: Measurement = {
  name: "memory-conversations",
  slow: true,
  run: () => measureSet(HELD_OUT_SET),
}

async function measureSet(set: ConversationSet): Promise<readonly Row[]> {
  const rows = [...(await measure(set, "all pairs")), ...(await measure(set, "all pairs", { asked: true }))]
  const pairs = await Promise.all(
    set.pairs.slice(0, SINGLE_PAIRS).map((pair) => measure({ ...set, pairs: [pair] }, "one pair")),
  )
  return [...rows, ...averaged(pairs)]
}

/** Stores with the conversation of one pair only, as the public data sets have them. */
const SINGLE_PAIRS = 4

function averaged(lists: readonly (readonly Row[])[]): readonly Row[] {
  const [first = []] = lists
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
  return first.map((row, index) => {
    const same = lists.flatMap((list) => list[index] ?? [])
    const floors = same.flatMap(({ floor }) => (floor === undefined ? [] : [floor]))
    return {
      ...row,
      ours: mean(same.map(({ ours }) => ours)),
      ...(floors.length > 0 && { floor: mean(floors) }),
    }
  })
}

async function measure(
  set: ConversationSet,
  name: string,
  options: { readonly asked?: boolean } = {},
): Promise<readonly Row[]> {
  const directory = mkdtempSync(join(tmpdir(), "hermes-bench-conversations-"))
  const log = { debug: () => undefined, warning: () => undefined }
  const path = join(directory, "state.db")
  const store = await openSqliteStore({ path, clock: systemClock, log })
  const index = await openSemanticIndex({ path: join(directory, "memory_index.db"), clock: systemClock, log })
  try {
    const { sessions, questions } = generateConversations(set, seededRandom(SEED))
    const ids = await storeSessions(store, sessions)
    if (options.asked === true) await storeQuestions(store, questions)
    const lexicon = createLexicon()
    const semanticSearch = createSemanticSearch({ index, clock: systemClock, lexicon })
    const { signal } = new AbortController()
    await semanticSearch.syncSessions(store, { budgetMs: 600_000, signal, isSearchCall: (tool) => tool === SEARCH })
    const running = toSessionId("running")
    const port: SessionsPort = {
      sessionId: () => running,
      store: () => Promise.resolve(store),
      lexicon: () => Promise.resolve(lexicon),
      semanticSearch: () => Promise.resolve(semanticSearch),
    }
    const ours: Found[] = []
    for (const { text } of questions)
      ours.push(await searchWithTool(text, { store, port, running, redact: (given) => given }))
    const plain = searchPlainly(path, { questions, ids })
    const isAnswered = (found: readonly Found[], key: "hits" | "shown"): number =>
      found.filter((one, at) => one[key].has(evidenceOf(questions[at], ids))).length / questions.length
    const label = options.asked === true ? `${name}, after all questions were asked once` : name
    return [
      { name: `${label}: messages`, unit: "count", ours: [...ids.values()].flat().length },
      { name: `${label}: questions`, unit: "count", ours: questions.length },
      {
        name: `${label}: evidence among 10 hits`,
        unit: "share",
        ours: isAnswered(ours, "hits"),
        floor: isAnswered(plain, "hits"),
      },
      {
        name: `${label}: evidence in the windows of 10 hits`,
        unit: "share",
        ours: isAnswered(ours, "shown"),
        floor: isAnswered(plain, "shown"),
      },
      {
        name: `${label}: messages per answer`,
        unit: "count",
        ours: average(ours.map(({ shown }) => shown.size)),
        floor: average(plain.map(({ shown }) => shown.size)),
      },
      { name: `${label}: characters per answer`, unit: "count", ours: average(ours.map(({ chars }) => chars)) },
      {
        name: `${label}: one query`,
        unit: "ms",
        ours: median(ours.map(({ ms }) => ms)),
        floor: median(plain.map(({ ms }) => ms)),
        target: { atMost: 20 },
      },
    ]
  } finally {
    await index.close()
    await store.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

interface Found {
  readonly hits: ReadonlySet<number>
  readonly shown: ReadonlySet<number>
  readonly chars: number
  readonly ms: number
}

type MessageIds = ReadonlyMap<string, readonly number[]>

const SECONDS_BETWEEN = 40

async function storeSessions(store: SessionStore, sessions: readonly GeneratedSession[]): Promise<MessageIds> {
  const ids = new Map<string, readonly number[]>()
  for (const { id, startedAt, messages } of sessions) {
    await store.createSession({ id: toSessionId(id), source: "cli", startedAt })
    const stored = messages.map(({ role, text }, at): Message => {
      const timestamp = startedAt + at * SECONDS_BETWEEN
      return role === "user" ? { role, content: text, timestamp } : { role, content: text, timestamp }
    })
    ids.set(id, await store.append(toSessionId(id), stored))
  }
  return ids
}

const SEARCH = "session_search"

/** Each question as a conversation in which the model searched for it in vain. */
async function storeQuestions(store: SessionStore, questions: readonly GeneratedQuestion[]): Promise<void> {
  for (const [at, { text }] of questions.entries()) {
    const id = toSessionId(`asked-${at}`)
    const call = {
      id: "c",
      type: "function" as const,
      function: { name: SEARCH, arguments: JSON.stringify({ query: text }) },
    }
    await store.createSession({ id, source: "cli", startedAt: systemClock.now() / 1000 })
    await store.append(id, [
      { role: "user", content: text },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c", tool_name: SEARCH, content: JSON.stringify({ query: text, results: [] }) },
      { role: "assistant", content: "I found nothing about that." },
    ])
  }
}

async function searchWithTool(query: string, context: Parameters<typeof searchPastSessions>[1]): Promise<Found> {
  const request = parseSearchRequest({ query, limit: HITS, offset: 0, window: WINDOW })
  if (!request.ok) throw new Error(request.error)
  const started = performance.now()
  const { content } = await searchPastSessions(request.value, context)
  const ms = performance.now() - started
  const text = JSON.stringify(content)
  return {
    ms,
    chars: text.length,
    hits: new Set([...text.matchAll(/"match_message_id":(\d+)/gu)].map(([, id]) => Number(id))),
    shown: new Set([...text.matchAll(/"(?:match_message_)?id":(\d+)/gu)].map(([, id]) => Number(id))),
  }
}

/** What a plain full-text search finds: the words joined by OR, ranked by FTS5, with five messages before and after. */
function searchPlainly(
  path: string,
  { questions, ids }: { readonly questions: readonly GeneratedQuestion[]; readonly ids: MessageIds },
): readonly Found[] {
  const db = new DatabaseSync(path, { readOnly: true })
  const sessions = new Map([...ids.values()].flatMap((list) => list.map((id) => [id, list] as const)))
  const statement = db.prepare("SELECT rowid AS id FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rank LIMIT ?")
  const found = questions.map(({ text }) => {
    const started = performance.now()
    const match = (text.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => `"${word}"`).join(" OR ")
    const hits = statement.all(match, HITS).map((row) => Number(row["id"]))
    const ms = performance.now() - started
    const shown = hits.flatMap((id) => {
      const list = sessions.get(id) ?? [id]
      const at = list.indexOf(id)
      return list.slice(Math.max(0, at - WINDOW), at + WINDOW + 1)
    })
    return { hits: new Set(hits), shown: new Set(shown), chars: 0, ms }
  })
  db.close()
  return found
}

function evidenceOf(question: GeneratedQuestion | undefined, ids: MessageIds): number {
  return ids.get(question?.session ?? "")?.[question?.message ?? -1] ?? -1
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const rows = await measureSet(process.argv.includes("--tuning") ? TUNING_SET : HELD_OUT_SET)
  console.table(
    rows.map(({ name, unit, ours, floor }) => ({
      name,
      unit,
      ours: Number(ours.toFixed(3)),
      floor: floor === undefined ? "" : Number(floor.toFixed(3)),
    })),
  )
}
