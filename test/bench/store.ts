import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { systemClock } from "../../src/base/clock.ts"
import { toSessionId } from "../../src/protocol/identifiers.ts"
import { checkHealth } from "../../src/state/sqlite/health.ts"
import { openSqliteStore } from "../../src/state/sqlite/open-store.ts"
import type { MessageSearchOptions, SessionStore, StoredMessage } from "../../src/state/store.ts"
import { seededRandom } from "../support/seeded-random.ts"

const SESSIONS = 2000
const MESSAGES_PER_SESSION = 50
const TURN = 10
const START = 1_700_000_000

/** Measures a session database with 100,000 messages. The suffix of each key is its unit. */
export async function measureStore(): Promise<Record<string, number>> {
  const directory = mkdtempSync(join(tmpdir(), "hermes-bench-store-"))
  const path = join(directory, "state.db")
  try {
    const random = seededRandom(20_261_115)
    const built = await timed(() => buildCorpus(path, random))
    const openMs = await median(9, async () => {
      const store = await open(path)
      return async () => await store.close()
    })
    const store = await open(path)
    const numbers = {
      store_build_s: built / 1000,
      store_open_ms: openMs,
      store_list_last_activity_ms: await median(21, async () => void (await store.list({ limit: 20 }))),
      store_list_started_ms: await median(21, async () => void (await store.list({ limit: 20, orderBy: "started" }))),
      store_doctor_ms: await median(5, async () => void (await checkHealth(path, { scope: "quick" }))),
      store_count_ms: await median(9, async () => void (await store.count())),
      store_rare_word_ms: await median(21, async () => void (await store.search("zebrafish777"))),
      store_common_newest_ms: await median(21, async () => void (await store.search("the", { sort: "newest" }))),
      store_common_ranked_ms: await median(5, async () => void (await store.search("the"))),
      ...(await mixedQueries(store, random)),
      ...(await appendSpeed(store, random)),
      ...(await savingDuringMerge(path, store)),
    }
    await store.close()
    return numbers
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function buildCorpus(path: string, random: () => number): Promise<void> {
  const store = await open(path)
  for (let session = 0; session < SESSIONS; session += 1) {
    const id = sessionName(session)
    const startedAt = START + session * 1000
    await store.createSession({
      id,
      source: session % 5 === 0 ? "telegram" : "cli",
      startedAt,
      systemPrompt: "You are Hermes. ".repeat(500),
    })
    const messages = Array.from({ length: MESSAGES_PER_SESSION }, (_, index) =>
      corpusMessage(random, { session, index, timestamp: startedAt + index }),
    )
    await store.append(id, messages)
    await store.setGeneratedTitle(id, `session ${session}`)
  }
  await store.close()
}

function corpusMessage(
  random: () => number,
  position: { readonly session: number; readonly index: number; readonly timestamp: number },
): StoredMessage {
  const words = Array.from({ length: 20 + Math.floor(random() * 40) }, () => word(random))
  if (random() < 0.7) words.unshift("the")
  if (position.index === 7) words.push(`zebrafish${position.session}`)
  if (position.index === 9) words.push("大别山项目部署")
  const content = words.join(" ")
  const { timestamp } = position
  return position.index % 2 === 0 ? { role: "user", content, timestamp } : { role: "assistant", content, timestamp }
}

/** Returns words with decreasing frequency, as in natural text. */
function word(random: () => number): string {
  const rank = Math.floor(20_000 ** random())
  return `${SYLLABLES[rank % 17] ?? ""}${SYLLABLES[Math.floor(rank / 17) % 17] ?? ""}${rank.toString(36)}`
}

const SYLLABLES = [
  "ka",
  "lo",
  "mi",
  "nu",
  "pe",
  "ra",
  "si",
  "to",
  "ve",
  "xo",
  "ya",
  "zu",
  "bri",
  "cle",
  "dra",
  "fen",
  "gor",
]

async function mixedQueries(store: SessionStore, random: () => number): Promise<Record<string, number>> {
  const cases: [string, MessageSearchOptions][] = Array.from({ length: 50 }, (_, index) => {
    switch (index % 10) {
      case 0:
        return [`zebrafish${index * 13}`, {}]
      case 1:
        return ["the", { sort: "newest" }]
      case 2:
        return [`${word(random)} ${word(random)}`, {}]
      case 3:
        return [word(random), { sort: "oldest" }]
      case 4:
        return [`${word(random)}*`, { roles: ["user"] }]
      case 5:
        return [`"${word(random)} ${word(random)}"`, {}]
      case 6:
        return ["大别山项目", { sort: "newest" }]
      case 7:
        return [`${word(random)} OR ${word(random)}`, { sources: ["telegram"] }]
      case 8:
        return [`the NOT ${word(random)}`, { sort: "newest", limit: 50 }]
      default:
        return [word(random), {}]
    }
  })
  const times: number[] = []
  for (const [query, options] of cases) times.push(await timed(async () => void (await store.search(query, options))))
  times.sort((a, b) => a - b)
  return {
    store_mixed_p50_ms: times[Math.floor(times.length * 0.5)] ?? 0,
    store_mixed_p95_ms: times[Math.floor(times.length * 0.95)] ?? 0,
    store_cjk_like_ms: await median(5, async () => void (await store.search("部署"))),
  }
}

async function appendSpeed(store: SessionStore, random: () => number): Promise<Record<string, number>> {
  const id = sessionName(SESSIONS)
  await store.createSession({ id, source: "cli", startedAt: START + SESSIONS * 1000 })
  const turns = Array.from({ length: 300 }, (_, turn) =>
    Array.from({ length: TURN }, (_entry, index) =>
      corpusMessage(random, { session: SESSIONS, index, timestamp: START + SESSIONS * 1000 + turn * TURN + index }),
    ),
  )
  const times: number[] = []
  for (const turn of turns) times.push(await timed(async () => void (await store.append(id, turn))))
  const total = times.reduce((sum, time) => sum + time, 0)
  return {
    store_append_per_s: (turns.length * TURN) / (total / 1000),
    store_append_turn_worst_ms: Math.max(...times),
  }
}

/** The longest delay of a save while another connection merges the search index. */
async function savingDuringMerge(path: string, store: SessionStore): Promise<Record<string, number>> {
  const other = await open(path)
  const merged = other.optimize().then(() => "merged" as const)
  let worst = 0
  do {
    const save = async (): Promise<void> =>
      void (await store.append(sessionName(SESSIONS), [{ role: "user", content: "saved" }]))
    worst = Math.max(worst, await timed(save))
  } while ((await Promise.race([merged, pauseMs(20)])) !== "merged")
  await other.close()
  return { store_save_during_optimize_worst_ms: worst }
}

function pauseMs(ms: number): Promise<"paused"> {
  return new Promise((resolve) => setTimeout(() => resolve("paused"), ms))
}

function open(path: string): Promise<SessionStore> {
  return openSqliteStore({ path, clock: systemClock, log: { debug: () => undefined, warning: () => undefined } })
}

function sessionName(index: number): ReturnType<typeof toSessionId> {
  return toSessionId(`20231114_${String(index).padStart(6, "0")}_bench0`)
}

/** Runs the clean-up function that `work` returns outside the measured time. */
async function median(rounds: number, work: () => Promise<(() => Promise<void>) | void>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now()
    const cleanUp = await work()
    times.push(performance.now() - started)
    await cleanUp?.()
  }
  times.sort((a, b) => a - b)
  return times[Math.floor(rounds / 2)] ?? 0
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const numbers = await measureStore()
  console.table(Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, Number(value.toFixed(2))])))
}
