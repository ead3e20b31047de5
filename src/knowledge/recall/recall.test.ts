import { join } from "node:path"
import { describe, expect, test } from "vitest"
import {
  NOW,
  recordingLog,
  session,
  sid,
  temporaryFolder,
  temporaryStore,
  testClock,
} from "../../../test/fixtures/state/temporary-store.ts"
import { openRecallIndex } from "../../state/sqlite/recall-index.ts"
import type { RecallIndex } from "../../state/sqlite/recall-index.ts"
import type { RecallEntry } from "./entry-chunks.ts"
import { createRecall } from "./recall.ts"
import type { Recall } from "./recall.ts"
import type { Embed } from "./vectors.ts"

const DAY = 86_400

interface RecallBench extends AsyncDisposable {
  readonly recall: Recall
  readonly index: RecallIndex
  found(query: string, limit?: number): Promise<readonly string[]>
}

async function recallBench(options: { readonly embed?: Embed } = {}): Promise<RecallBench> {
  const folder = temporaryFolder()
  const clock = testClock()
  const index = await openRecallIndex({ path: join(folder.path, "memory_index.db"), clock, log: recordingLog() })
  const recall = createRecall({ index, clock, ...options })
  return {
    recall,
    index,
    found: async (query, limit = 10) => (await recall.search(query, { limit })).map(({ ref }) => ref),
    [Symbol.asyncDispose]: async () => {
      await index.close()
      folder[Symbol.dispose]()
    },
  }
}

function entry(ref: string, text: string, more: Partial<RecallEntry> = {}): RecallEntry {
  return { kind: "session", ref, text, createdAt: NOW, ...more }
}

/** What was said among a hundred other facts, and how it is asked for months later. */
const FACTS: readonly (readonly [said: string, asked: string])[] = [
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

describe("finding by other words", () => {
  test("nine of ten facts are among the first ten of five hundred", async () => {
    await using at = await recallBench()
    const others = Array.from({ length: 500 }, (_, number) =>
      entry(
        `other#${number}`,
        `${FACTS[number % FACTS.length]?.[0].split(" ").toReversed().slice(0, 3).join(" ")} and note ${number}.`,
      ),
    )
    await at.recall.index(others)
    await at.recall.index(FACTS.map(([said], number) => entry(`fact#${number}`, said, { createdAt: NOW - 100 * DAY })))
    const missed: string[] = []
    for (const [number, [, asked]] of FACTS.entries()) {
      if (!(await at.found(asked)).includes(`fact#${number}`)) missed.push(asked)
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
    ["letters that changed places", "Dailno", "Dalino is late."],
    ["a misspelt synonym", "phisician", "My doctor is away."],
    ["part of a name in code", "store", "See sessionStore."],
    ["accents left out", "Zurich", "The train to Zürich."],
    ["part of a Chinese sentence", "大别山", "关于大别山项目的部署"],
  ])("%s: %s", async (_what, query, text) => {
    await using at = await recallBench()
    await at.recall.index([entry("right", text), entry("wrong", "Qwop zzyxi.")])
    expect(await at.found(query)).toEqual(["right"])
  })

  test.each(["", "the of and", "qwxz", '"', "NOT AND OR", "***", "\u0000"])("%j finds nothing", async (query) => {
    await using at = await recallBench()
    await at.recall.index([entry("one", "The train to Graz.")])
    expect(await at.found(query)).toEqual([])
  })

  test("of two equal texts the newer one comes first, and kinds can be chosen", async () => {
    await using at = await recallBench()
    await at.recall.index([
      entry("old", "The key is in the shed.", { createdAt: NOW - 90 * DAY }),
      entry("new", "The key is in the shed."),
      entry("note", "The key is in the shed.", { kind: "memory", createdAt: NOW - 10 * DAY }),
    ])
    expect(await at.found("where is the key")).toEqual(["new", "note", "old"])
    const notes = await at.recall.search("where is the key", { limit: 5, kinds: ["memory", "learning"] })
    expect(notes.map(({ ref }) => ref)).toEqual(["note"])
    const sessions = await at.recall.search("key", { limit: 5, kinds: ["session"] })
    expect(sessions.map(({ ref }) => ref)).toEqual(["new", "old"])
    const others = await at.recall.search("key", { limit: 5, except: ["new", "note"] })
    expect(others.map(({ ref, score }) => [ref, score > 0.9])).toEqual([["old", true]])
  })

  test("a long text is found by its part, and the part is shown", async () => {
    await using at = await recallBench()
    const filler = "Nothing happened that day. ".repeat(100)
    await at.recall.index([entry("long", `${filler}The spare key hangs behind the fuse box. ${filler}`)])
    const [hit] = await at.recall.search("where is the spare key", { limit: 1 })
    expect(hit?.ref).toBe("long")
    expect(hit?.text).toContain("behind the fuse box")
    expect(hit?.text.length).toBeLessThanOrEqual(1200)
  })
})

describe("keeping", () => {
  test("an entry replaces the one of its name; an empty one and `remove` forget it", async () => {
    await using at = await recallBench()
    await at.recall.index([entry("a", "about opals"), entry("a#1", "about quarks"), entry("b", "about yetis")])
    await at.recall.index([entry("a", "about gnomes")])
    expect([await at.found("opals"), await at.found("gnomes")]).toEqual([[], ["a"]])
    await at.recall.index([entry("b", " ")])
    expect(await at.found("yetis")).toEqual([])
    await at.recall.remove("a")
    expect([await at.found("gnomes"), await at.found("quarks")]).toEqual([[], []])
  })

  test("`replace` makes a list everything there is of its kind", async () => {
    await using at = await recallBench()
    await at.recall.index([entry("s", "about opals"), entry("x", "about yetis", { kind: "memory" })])
    await at.recall.replace("memory", [
      { ref: "y", text: "about quarks", createdAt: NOW },
      { ref: "z", text: "about gnomes", createdAt: NOW },
    ])
    await at.recall.replace("memory", [{ ref: "y", text: "about quarks", createdAt: NOW }])
    expect([
      await at.found("yetis"),
      await at.found("gnomes"),
      await at.found("quarks"),
      await at.found("opals"),
    ]).toEqual([[], [], ["y"], ["s"]])
  })

  test("an index made with other word lists is made again", async () => {
    await using at = await recallBench()
    await at.recall.index([entry("a", "about trains")])
    await at.index.setNote("lexicon", "another")
    const again = createRecall({ index: at.index, clock: testClock() })
    expect(await again.search("trains", { limit: 1 })).toEqual([])
  })
})

describe("vectors", () => {
  /** Two directions: what is about cats, and everything else. */
  const embed =
    (dims: number): Embed =>
    async (texts) =>
      texts.map((text) =>
        Float32Array.from({ length: dims }, (_, at) => (at === (/feline|cat/.test(text) ? 0 : 1) ? 3 : 0)),
      )

  test("find what no word would find", async () => {
    await using at = await recallBench({ embed: embed(4) })
    await at.recall.index([entry("cat", "the feline zzz"), entry("other", "the weather")])
    const hits = await at.recall.search("concat qqq", { limit: 2 })
    expect(hits.map(({ ref, score }) => [ref, Number(score.toFixed(3))])).toEqual([
      ["cat", 0.65],
      ["other", 0.1],
    ])
  })

  test("are made again when their length changes, and a text is embedded once", async () => {
    await using at = await recallBench({ embed: embed(4) })
    await at.recall.index([entry("cat", "the feline"), entry("copy", "the feline")])
    expect(await at.index.withoutVector(10)).toEqual([])
    const asked: string[] = []
    const longer = createRecall({
      index: at.index,
      clock: testClock(),
      embed: (texts) => {
        asked.push(...texts)
        return embed(8)(texts)
      },
    })
    await longer.index([entry("more", "the weather")])
    expect([await at.index.vectorDims(), asked]).toEqual([8, ["the weather"]])
    await longer.index([])
    expect([asked, await at.index.withoutVector(10)]).toEqual([["the weather", "the feline"], []])
  })

  test.each<readonly [string, Embed]>([
    ["fails", () => Promise.reject(new Error("no service"))],
    ["gives too few", () => Promise.resolve([])],
    ["gives empty ones", (texts) => Promise.resolve(texts.map(() => new Float32Array()))],
  ])("an embedder that %s leaves the words", async (_what, broken) => {
    await using at = await recallBench({ embed: broken })
    await at.recall.index([entry("a", "about opals")])
    expect([await at.found("opals"), await at.index.vectorDims()]).toEqual([["a"], undefined])
  })
})

describe("catching up with sessions", () => {
  const options = { budgetMs: 1000, signal: new AbortController().signal }

  test("takes what people and models said, once, and goes on where it was", async () => {
    await using at = await recallBench()
    await using state = await temporaryStore()
    const { store } = state
    await store.createSession(session("s1"))
    await store.append(sid("s1"), [
      { role: "user", content: "the kayak is blue" },
      { role: "assistant", content: null },
      { role: "assistant", content: "noted, the canoe is red" },
      { role: "tool", content: "tool says submarine", tool_call_id: "c", tool_name: "t" },
      { role: "user", content: "earlier: zeppelin", synthetic: "elision" },
      { role: "user", content: "summary: balloon", compressed_summary: true },
    ])
    expect(await at.recall.catchUp(store, options)).toEqual({ complete: true })
    expect([await at.found("kayak"), await at.found("canoe")].map((refs) => refs.toSorted())).toEqual([
      ["s1#1", "s1#3"],
      ["s1#1", "s1#3"],
    ])
    expect([await at.found("submarine"), await at.found("zeppelin"), await at.found("balloon")]).toEqual([[], [], []])
    state.clock.seconds += 10
    await store.append(sid("s1"), [{ role: "user", content: "the tractor is green" }])
    await store.createSession(session("s2", { source: "subagent" }))
    await store.append(sid("s2"), [{ role: "user", content: "the tractor is black" }])
    await at.recall.catchUp(store, options)
    expect(await at.found("tractor")).toEqual(["s1#7"])
  })

  test("forgets sessions that are gone, once a day at the latest", async () => {
    await using at = await recallBench()
    await using state = await temporaryStore()
    const { store } = state
    for (const id of ["s1", "s2"]) {
      await store.createSession(session(id))
      await store.append(sid(id), [{ role: "user", content: `tractor of ${id}` }])
    }
    await at.recall.catchUp(store, options)
    await store.deleteSession(sid("s1"))
    await at.index.setNote("last_sweep", String(NOW - 2 * DAY))
    await at.recall.catchUp(store, options)
    expect([await at.found("tractor"), await at.index.markedSessions()]).toEqual([["s2#2"], ["s2"]])
  })

  test("what was taken back and written again is indexed again", async () => {
    await using at = await recallBench()
    await using state = await temporaryStore()
    const { store } = state
    await store.createSession(session("s1"))
    await store.append(sid("s1"), [
      { role: "user", content: "one tractor" },
      { role: "user", content: "two tractors" },
    ])
    await at.recall.catchUp(store, options)
    await store.replaceMessages(sid("s1"), [{ role: "user", content: "three tractors" }])
    await at.recall.catchUp(store, options)
    expect(await at.found("tractor")).toEqual(["s1#3"])
  })

  test("stops when its time is over and goes on the next time, newest first", async () => {
    await using at = await recallBench()
    await using state = await temporaryStore()
    const { store } = state
    for (const number of [1, 2, 3]) {
      await store.createSession(session(`s${number}`, { startedAt: NOW + number }))
      await store.append(sid(`s${number}`), [{ role: "user", content: "a tractor", timestamp: NOW + number }])
    }
    expect(await at.recall.catchUp(store, { ...options, budgetMs: 0 })).toEqual({ complete: false })
    expect(await at.index.markedSessions()).toEqual(["s3"])
    expect(await at.recall.catchUp(store, options)).toEqual({ complete: true })
    expect((await at.index.markedSessions()).toSorted()).toEqual(["s1", "s2", "s3"])
  })

  test("a long session is taken in several steps", async () => {
    await using at = await recallBench()
    await using state = await temporaryStore()
    const { store } = state
    await store.createSession(session("s1"))
    const messages = Array.from({ length: 250 }, (_, at_) => ({
      role: "user" as const,
      content: `tractor number ${at_}`,
    }))
    await store.append(sid("s1"), messages)
    await at.recall.catchUp(store, options)
    expect(await at.index.refs("session")).toHaveLength(250)
    expect((await at.index.marks([sid("s1")])).get(sid("s1"))).toMatchObject({ lastMessageId: 250, messageCount: 250 })
  })
})
