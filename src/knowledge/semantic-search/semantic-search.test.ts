import { join } from "node:path"
import { describe, expect, test } from "vitest"
import {
  NOW,
  recordingLogger,
  session,
  sessionId,
  temporaryDirectory,
  temporaryStore,
  testClock,
} from "../../../test/fixtures/state/temporary-store.ts"
import { openSemanticIndex } from "../../state/sqlite/semantic-index/semantic-index.ts"
import type { SemanticIndex } from "../../protocol/semantic-index.ts"
import type { IndexEntry } from "./entry-chunks.ts"
import { createSemanticSearch } from "./semantic-search.ts"
import type { SemanticSearch } from "./semantic-search.ts"
import type { Embedder } from "./vector-search.ts"

const DAY = 86_400

interface SearchBench extends AsyncDisposable {
  readonly search: SemanticSearch
  readonly index: SemanticIndex
  found(query: string, limit?: number): Promise<readonly string[]>
}

async function searchBench(options: { readonly embedder?: Embedder } = {}): Promise<SearchBench> {
  const folder = temporaryDirectory()
  const clock = testClock()
  const index = await openSemanticIndex({ path: join(folder.path, "memory_index.db"), clock, log: recordingLogger() })
  const search = createSemanticSearch({ index, clock, ...options })
  return {
    search,
    index,
    found: async (query, limit = 10) => (await search.search(query, { limit })).map(({ ref }) => ref),
    [Symbol.asyncDispose]: async () => {
      await index.close()
      folder[Symbol.dispose]()
    },
  }
}

function entry(ref: string, text: string, more: Partial<IndexEntry> = {}): IndexEntry {
  return { kind: "session", ref, text, createdAt: NOW, ...more }
}

/** Facts, and queries for them in other words. */
const FACTS: readonly (readonly [fact: string, query: string])[] = [
  ["The staging database listens on port 7431.", "which port has the db of the test environment"],
  ["Marta is allergic to shellfish.", "what food is Marta intolerant to"],
  ["We deploy on Thursdays after the standup.", "on which weekday do we ship"],
  ["The invoice goes to the office in Graz.", "where is the bill sent"],
  ["Olek drives an old Volvo.", "what car does Olek have"],
  ["The flaky login test was fixed by freezing the clock.", "how did we repair the unreliable authentication spec"],
  ["The certificate of the shop runs out in October.", "when does the TLS of the store expire"],
  ["My dentist moved to Mill Lane.", "new address of the one who does my teeth"],
  ["Backups are kept for ninety days.", "how long do we retain snapshots"],
  ["Chidi prefers tea in the morning.", "what beverage does Chidi like at breakfast"],
  ["The crash came from a null pointer in the parser.", "cause of the segfault"],
  ["Rent is due on the third.", "when must I pay the landlord"],
  ["The router in the attic needs a reboot every week.", "how often do I have to restart the wifi"],
  ["Priya reviews everything in the billing module.", "who approves pull requests about invoices"],
  ["Use tabs, never spaces, in the Makefiles.", "what indentation do the makefile rules want"],
  ["The dog is called Bruno.", "name of our puppy"],
  ["Sanna plays the cello in an orchestra.", "which instrument does Sanna make music with"],
  ["The rate limit is 40 requests a second.", "at how many calls do they throttle us"],
  ["Jonas broke his ankle while skiing.", "what injury did Jonas get in the snow"],
  ["Kubernetes was ruled out because of the cost.", "why did we decide against k8s"],
]

describe("search", () => {
  test("finds nine of ten facts among the first ten hits of 520 entries", async () => {
    await using bench = await searchBench()
    const others = Array.from({ length: 500 }, (_, number) =>
      entry(
        `other#${number}`,
        `${FACTS[number % FACTS.length]?.[0].split(" ").toReversed().slice(0, 3).join(" ")} and note ${number}.`,
      ),
    )
    await bench.search.index(others)
    await bench.search.index(
      FACTS.map(([fact], number) => entry(`fact#${number}`, fact, { createdAt: NOW - 100 * DAY })),
    )
    const missed: string[] = []
    for (const [number, [, query]] of FACTS.entries()) {
      if (!(await bench.found(query)).includes(`fact#${number}`)) missed.push(query)
    }
    expect(missed.length / FACTS.length, missed.join("; ")).toBeLessThanOrEqual(0.1)
  })

  test.each([
    ["another form of the word", "deploying", "We deployed it twice."],
    ["a synonym", "physician", "My doctor is away."],
    ["an abbreviation", "k8s", "The Kubernetes cluster is full."],
    ["a phrase for a word", "mr", "Open a merge request."],
    ["a shorter form", "reposit", "The repo is private."],
    ["a misspelling", "kuberntes", "The Kubernetes cluster is full."],
    ["swapped letters", "Dailno", "Dalino is late."],
    ["a misspelt synonym", "phisician", "My doctor is away."],
    ["part of a name in code", "store", "See sessionStore."],
    ["a word without its accents", "Zurich", "The train to Zürich."],
    ["part of a Chinese sentence", "大别山", "关于大别山项目的部署"],
  ])("matches %s: %s", async (_case, query, text) => {
    await using bench = await searchBench()
    await bench.search.index([entry("right", text), entry("wrong", "Qwop zzyxi.")])
    expect(await bench.found(query)).toEqual(["right"])
  })

  test.each(["", "the of and", "qwxz", '"', "NOT AND OR", "***", "\u0000"])("%j finds nothing", async (query) => {
    await using bench = await searchBench()
    await bench.search.index([entry("one", "The train to Graz.")])
    expect(await bench.found(query)).toEqual([])
  })

  test("equal texts rank newest first, and kinds and refs can be filtered", async () => {
    await using bench = await searchBench()
    await bench.search.index([
      entry("old", "The key is in the shed.", { createdAt: NOW - 90 * DAY }),
      entry("new", "The key is in the shed."),
      entry("note", "The key is in the shed.", { kind: "memory", createdAt: NOW - 10 * DAY }),
    ])
    expect(await bench.found("where is the key")).toEqual(["new", "note", "old"])
    const notes = await bench.search.search("where is the key", { limit: 5, kinds: ["memory", "learning"] })
    expect(notes.map(({ ref }) => ref)).toEqual(["note"])
    const sessions = await bench.search.search("key", { limit: 5, kinds: ["session"] })
    expect(sessions.map(({ ref }) => ref)).toEqual(["new", "old"])
    const others = await bench.search.search("key", { limit: 5, except: ["new", "note"] })
    expect(others.map(({ ref, score }) => [ref, score > 0.9])).toEqual([["old", true]])
  })

  test("a hit in a long text shows the matching part", async () => {
    await using bench = await searchBench()
    const filler = "Nothing happened that day. ".repeat(100)
    await bench.search.index([entry("long", `${filler}The spare key hangs behind the fuse box. ${filler}`)])
    const [hit] = await bench.search.search("where is the spare key", { limit: 1 })
    expect(hit?.ref).toBe("long")
    expect(hit?.text).toContain("behind the fuse box")
    expect(hit?.text.length).toBeLessThanOrEqual(1200)
  })
})

describe("updating the index", () => {
  test("an entry replaces the one with its ref; an empty text and `remove` delete it", async () => {
    await using bench = await searchBench()
    await bench.search.index([entry("a", "about opals"), entry("a#1", "about quarks"), entry("b", "about yetis")])
    await bench.search.index([entry("a", "about gnomes")])
    expect([await bench.found("opals"), await bench.found("gnomes")]).toEqual([[], ["a"]])
    await bench.search.index([entry("b", " ")])
    expect(await bench.found("yetis")).toEqual([])
    await bench.search.remove("a")
    expect([await bench.found("gnomes"), await bench.found("quarks")]).toEqual([[], []])
  })

  test("`replace` replaces all entries of a kind", async () => {
    await using bench = await searchBench()
    await bench.search.index([entry("s", "about opals"), entry("x", "about yetis", { kind: "memory" })])
    await bench.search.replace("memory", [
      { ref: "y", text: "about quarks", createdAt: NOW },
      { ref: "z", text: "about gnomes", createdAt: NOW },
    ])
    await bench.search.replace("memory", [{ ref: "y", text: "about quarks", createdAt: NOW }])
    expect([
      await bench.found("yetis"),
      await bench.found("gnomes"),
      await bench.found("quarks"),
      await bench.found("opals"),
    ]).toEqual([[], [], ["y"], ["s"]])
  })

  test("an index of another lexicon version is emptied", async () => {
    await using bench = await searchBench()
    await bench.search.index([entry("a", "about trains")])
    await bench.index.setMetadata("lexicon", "another")
    const again = createSemanticSearch({ index: bench.index, clock: testClock() })
    expect(await again.search("trains", { limit: 1 })).toEqual([])
  })
})

describe("vectors", () => {
  /** Maps texts about cats to one direction and all others to another. */
  const embedder = (dims: number, id = "cats"): Embedder => ({
    id,
    embed: (texts) =>
      Promise.resolve(
        texts.map((text) =>
          Float32Array.from({ length: dims }, (_, index) => (index === (/feline|cat/.test(text) ? 0 : 1) ? 3 : 0)),
        ),
      ),
  })
  const { signal } = new AbortController()

  test("find entries that share no word with the query", async () => {
    await using bench = await searchBench({ embedder: embedder(4) })
    await bench.search.index([entry("cat", "the feline zzz"), entry("other", "the weather")])
    expect(await bench.search.embedMissing(signal)).toEqual({ more: true })
    expect(await bench.search.embedMissing(signal)).toEqual({ more: false })
    const hits = await bench.search.search("concat qqq", { limit: 2 })
    expect(hits.map(({ ref, score }) => [ref, Number(score.toFixed(3))])).toEqual([
      ["cat", 0.65],
      ["other", 0.1],
    ])
    const similar = await bench.search.searchVectors("concat qqq", { limit: 1 })
    expect(similar.map(({ ref, score }) => [ref, score])).toEqual([["cat", 1]])
  })

  test.each([
    ["their length", embedder(8)],
    ["the model", embedder(4, "other model")],
  ])("are computed again when %s changes; equal texts are embedded once", async (_case, changed) => {
    await using bench = await searchBench({ embedder: embedder(4) })
    await bench.search.index([entry("cat", "the feline"), entry("copy", "the feline")])
    await bench.search.embedMissing(signal)
    expect(await bench.index.textsWithoutVector(10)).toEqual([])
    const embedded: string[] = []
    const other = createSemanticSearch({
      index: bench.index,
      clock: testClock(),
      embedder: {
        id: changed.id,
        embed: (texts, options) => {
          embedded.push(...texts)
          return changed.embed(texts, options)
        },
      },
    })
    await other.index([entry("more", "the weather")])
    for (let more = true; more;) more = (await other.embedMissing(signal)).more
    expect(embedded.toSorted()).toEqual(["the feline", "the weather"])
    expect(await bench.index.textsWithoutVector(10)).toEqual([])
  })

  test.each<readonly [string, Embedder["embed"]]>([
    ["fails", () => Promise.reject(new Error("no service"))],
    ["returns too few vectors", () => Promise.resolve([])],
    ["returns empty vectors", (texts) => Promise.resolve(texts.map(() => new Float32Array()))],
  ])("keyword search works with an embedder that %s", async (_case, embed) => {
    await using bench = await searchBench({ embedder: { id: "broken", embed } })
    await bench.search.index([entry("a", "about opals")])
    expect(await bench.search.embedMissing(signal)).toEqual({ more: false })
    expect([await bench.found("opals"), await bench.index.vectorDimensions()]).toEqual([["a"], undefined])
  })

  test("a search does not wait for an embedder that does not answer, and pauses it", async () => {
    const cats = embedder(4)
    let queries = 0
    await using bench = await searchBench({
      embedder: {
        id: cats.id,
        embed: (texts, options) => {
          if (options.purpose === "document") return cats.embed(texts, options)
          queries += 1
          return new Promise(() => undefined)
        },
      },
    })
    await bench.search.index([entry("a", "about opals")])
    await bench.search.embedMissing(signal)
    expect([await bench.found("opals"), await bench.found("opal stones"), queries]).toEqual([["a"], ["a"], 1])
  })
})

describe("syncing sessions", () => {
  const options = { budgetMs: 1000, signal: new AbortController().signal }

  test("indexes user and assistant messages once, and continues after the last indexed one", async () => {
    await using bench = await searchBench()
    await using state = await temporaryStore()
    const { store } = state
    await store.createSession(session("s1"))
    await store.append(sessionId("s1"), [
      { role: "user", content: "the kayak is blue" },
      { role: "assistant", content: null },
      { role: "assistant", content: "noted, the canoe is red" },
      { role: "tool", content: "tool says submarine", tool_call_id: "c", tool_name: "t" },
      { role: "user", content: "earlier: zeppelin", synthetic: "elision" },
      { role: "user", content: "summary: balloon", compressed_summary: true },
    ])
    expect(await bench.search.syncSessions(store, options)).toEqual({ complete: true })
    expect([await bench.found("kayak"), await bench.found("canoe")].map((refs) => refs.toSorted())).toEqual([
      ["s1#1", "s1#3"],
      ["s1#1", "s1#3"],
    ])
    expect([await bench.found("submarine"), await bench.found("zeppelin"), await bench.found("balloon")]).toEqual([
      [],
      [],
      [],
    ])
    state.clock.seconds += 10
    await store.append(sessionId("s1"), [{ role: "user", content: "the tractor is green" }])
    await store.createSession(session("s2", { source: "subagent" }))
    await store.append(sessionId("s2"), [{ role: "user", content: "the tractor is black" }])
    await bench.search.syncSessions(store, options)
    expect(await bench.found("tractor")).toEqual(["s1#7"])
  })

  test("removes deleted sessions once a day", async () => {
    await using bench = await searchBench()
    await using state = await temporaryStore()
    const { store } = state
    for (const id of ["s1", "s2"]) {
      await store.createSession(session(id))
      await store.append(sessionId(id), [{ role: "user", content: `tractor of ${id}` }])
    }
    await bench.search.syncSessions(store, options)
    await store.deleteSession(sessionId("s1"))
    await bench.index.setMetadata("last_sweep", String(NOW - 2 * DAY))
    await bench.search.syncSessions(store, options)
    expect([await bench.found("tractor"), await bench.index.indexedSessionIds()]).toEqual([["s2#2"], ["s2"]])
  })

  test("a rewritten session is indexed again", async () => {
    await using bench = await searchBench()
    await using state = await temporaryStore()
    const { store } = state
    await store.createSession(session("s1"))
    await store.append(sessionId("s1"), [
      { role: "user", content: "one tractor" },
      { role: "user", content: "two tractors" },
    ])
    await bench.search.syncSessions(store, options)
    await store.replaceMessages(sessionId("s1"), [{ role: "user", content: "three tractors" }])
    await bench.search.syncSessions(store, options)
    expect(await bench.found("tractor")).toEqual(["s1#3"])
  })

  test("stops when the budget is used up and continues next time, newest sessions first", async () => {
    await using bench = await searchBench()
    await using state = await temporaryStore()
    const { store } = state
    for (const number of [1, 2, 3]) {
      await store.createSession(session(`s${number}`, { startedAt: NOW + number }))
      await store.append(sessionId(`s${number}`), [{ role: "user", content: "a tractor", timestamp: NOW + number }])
    }
    expect(await bench.search.syncSessions(store, { ...options, budgetMs: 0 })).toEqual({ complete: false })
    expect(await bench.index.indexedSessionIds()).toEqual(["s3"])
    expect(await bench.search.syncSessions(store, options)).toEqual({ complete: true })
    expect((await bench.index.indexedSessionIds()).toSorted()).toEqual(["s1", "s2", "s3"])
  })

  test("a long session is indexed completely", async () => {
    await using bench = await searchBench()
    await using state = await temporaryStore()
    const { store } = state
    await store.createSession(session("s1"))
    const messages = Array.from({ length: 250 }, (_, number) => ({
      role: "user" as const,
      content: `tractor number ${number}`,
    }))
    await store.append(sessionId("s1"), messages)
    await bench.search.syncSessions(store, options)
    expect(await bench.index.refs("session")).toHaveLength(250)
    expect((await bench.index.indexedSessions([sessionId("s1")])).get(sessionId("s1"))).toMatchObject({
      lastMessageId: 250,
      messageCount: 250,
    })
  })
})
