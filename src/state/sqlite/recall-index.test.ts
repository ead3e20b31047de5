import { statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import {
  recordingLog,
  sid,
  temporaryFolder,
  testClock,
  withRawDatabase,
} from "../../../test/fixtures/state/temporary-store.ts"
import type { NewChunk } from "./recall-chunks.ts"
import { openRecallIndex } from "./recall-index.ts"
import type { RecallIndex } from "./recall-index.ts"

interface IndexBench extends AsyncDisposable {
  readonly index: RecallIndex
  readonly path: string
  readonly log: ReturnType<typeof recordingLog>
}

async function indexBench(prepare: (path: string) => void = () => undefined): Promise<IndexBench> {
  const folder = temporaryFolder()
  const path = join(folder.path, "deep", "memory_index.db")
  const log = recordingLog()
  const options = { path, clock: testClock(), log }
  const first = await openRecallIndex(options)
  await first.close()
  prepare(path)
  const index = await openRecallIndex(options)
  return {
    index,
    path,
    log,
    [Symbol.asyncDispose]: async () => {
      await index.close()
      folder[Symbol.dispose]()
    },
  }
}

function chunk(ref: string, terms: string, more: Partial<NewChunk> = {}): NewChunk {
  return {
    kind: "session",
    ref,
    chunk: 0,
    text: terms,
    terms: terms.split(" "),
    textHash: terms,
    createdAt: 1,
    ...more,
  }
}

describe("the file", () => {
  test("is private and its folder is made", async () => {
    await using at = await indexBench()
    expect(statSync(at.path).mode & 0o777).toBe(0o600)
  })

  test("keeps what it holds", async () => {
    await using at = await indexBench()
    await at.index.put([chunk("a", "one two")])
    const again = await openRecallIndex({ path: at.path, clock: testClock(), log: recordingLog() })
    expect(await again.postings(["two"])).toEqual(new Map([["two", [1]]]))
    await again.close()
  })

  test("is made again when it is damaged", async () => {
    await using at = await indexBench((path) => {
      writeFileSync(path, "no database at all, but long enough to be taken for one".repeat(20))
    })
    await at.index.put([chunk("a", "one")])
    expect([(await at.index.termUse([])).entries, at.log.warnings.length]).toEqual([1, 1])
  })

  test("is emptied when it has another version", async () => {
    await using at = await indexBench((path) => {
      withRawDatabase(path, (db) => {
        db.exec("INSERT INTO notes(key, value) VALUES ('a', 'b'); PRAGMA user_version = 99")
      })
    })
    expect(await at.index.note("a")).toBeUndefined()
  })
})

describe("terms", () => {
  test("are counted by the entries that hold them and forgotten with the last of these", async () => {
    await using at = await indexBench()
    await at.index.put([chunk("a", "x x y"), chunk("b", "x z")])
    expect(await at.index.termUse(["x", "y", "z", "w"])).toEqual({
      entries: 2,
      averageTerms: 2.5,
      uses: new Map([
        ["x", 2],
        ["y", 1],
        ["z", 1],
      ]),
    })
    await at.index.remove("a")
    expect(await at.index.termUse(["x", "y"])).toEqual({ entries: 1, averageTerms: 2, uses: new Map([["x", 1]]) })
    expect([await at.index.postings(["x", "y"]), await at.index.termsFrom("", 5)]).toEqual([
      new Map([
        ["x", [2]],
        ["y", []],
      ]),
      ["x", "z"],
    ])
  })

  test("no word of a deleted text is found any more", async () => {
    await using at = await indexBench()
    await at.index.put([chunk("a", "topsecretword")])
    await at.index.remove("a")
    expect([await at.index.termsAlike("topsecretwort", 5), await at.index.chunks([1])]).toEqual([[], []])
  })

  test.each([
    ["prometheus", ["prometheus", "prometheu"]],
    ["dailno", ["dalino"]],
    ["xy", []],
    ["grüsse", ["grüße"]],
  ])("like %s there is %j", async (term, expected) => {
    await using at = await indexBench()
    await at.index.put([chunk("a", "prometheus prometheu dalino grüße 大别")])
    expect((await at.index.termsAlike(term, 5)).toSorted()).toEqual(expected.toSorted())
  })

  test("of any script are one term each", async () => {
    await using at = await indexBench()
    await at.index.put([chunk("a", "大别 ǂmoney größe naïve привет 𝒳y")])
    const terms = ["大别", "ǂmoney", "größe", "naïve", "привет", "𝒳y", "大", "money"]
    const found = await at.index.postings(terms)
    expect(terms.filter((term) => found.get(term)?.length === 1)).toEqual(terms.slice(0, 6))
  })
})

describe("entries", () => {
  test("are replaced as a whole, and left alone when nothing changed", async () => {
    await using at = await indexBench()
    const parts = [chunk("a", "one"), chunk("a", "two", { chunk: 1 })]
    await at.index.put(parts)
    await at.index.put(parts)
    expect(await at.index.postings(["one"])).toEqual(new Map([["one", [1]]]))
    await at.index.put([chunk("a", "three")])
    expect(await at.index.refs("session")).toEqual([{ ref: "a", chunk: 0, textHash: "three" }])
    expect((await at.index.chunks([1])).map(({ text }) => text)).toEqual(["three"])
  })

  test("of other kinds under the same name stay; a name takes those below it along", async () => {
    await using at = await indexBench()
    await at.index.put([
      chunk("s", "x"),
      chunk("s#1", "x"),
      chunk("s#2", "x"),
      chunk("s2#1", "x"),
      chunk("m", "x", { kind: "memory" }),
    ])
    await at.index.put([chunk("m", "y", { kind: "user" })])
    expect([await at.index.idsOf(["memory", "user"]), await at.index.idsOf(["learning"])]).toEqual([[5, 6], []])
    await at.index.remove("s")
    expect((await at.index.refs("session")).map(({ ref }) => ref)).toEqual(["s2#1"])
    expect([await at.index.idsUnder("s"), await at.index.idsUnder("s2")]).toEqual([[], [4]])
  })

  test("marks say how far a session is; they go with it", async () => {
    await using at = await indexBench()
    const mark = { sessionId: sid("s"), lastMessageId: 7, lastActivity: 12.5, messageCount: 3 }
    await at.index.put([chunk("s#7", "x")], mark)
    expect(await at.index.marks([sid("s"), sid("other")])).toEqual(new Map([["s", mark]]))
    await at.index.remove("s")
    expect(await at.index.markedSessions()).toEqual([])
  })

  test("`clear` forgets everything", async () => {
    await using at = await indexBench()
    await at.index.put([chunk("a", "x")])
    await at.index.setNote("k", "v")
    await at.index.clear()
    expect([await at.index.termUse(["x"]), await at.index.note("k")]).toEqual([
      { entries: 0, averageTerms: 0, uses: new Map() },
      undefined,
    ])
  })
})

describe("vectors", () => {
  const vector = (...values: number[]): Float32Array => Float32Array.from(values)

  test("are compared by direction, of the wanted kinds and of the same length", async () => {
    await using at = await indexBench()
    await at.index.put([chunk("a", "one"), chunk("b", "two"), chunk("c", "three", { kind: "memory" })])
    await at.index.putVectors([
      { textHash: "one", vector: vector(5, 0) },
      { textHash: "two", vector: vector(3, 3) },
      { textHash: "three", vector: vector(0, 1) },
      { textHash: "unknown", vector: vector(1, 0) },
    ])
    const near = await at.index.nearest(vector(2, 0), { kinds: ["session", "memory"], limit: 2 })
    expect(near.map(({ id, cosine }) => [id, Number(cosine.toFixed(4))])).toEqual([
      [1, 1],
      [2, 0.7071],
    ])
    expect(await at.index.nearest(vector(2, 0), { kinds: ["memory"], limit: 5 })).toEqual([{ id: 3, cosine: 0 }])
    expect(await at.index.nearest(vector(1, 0, 0), { kinds: ["session"], limit: 5 })).toEqual([])
  })

  test("are float32, little-endian, of length 1, and belong to a text as long as it is there", async () => {
    await using at = await indexBench()
    await at.index.put([chunk("a", "one"), chunk("b", "one")])
    await at.index.putVectors([{ textHash: "one", vector: vector(0, -4) }])
    const stored = withRawDatabase(at.path, (db) =>
      db.prepare("SELECT kind, ref, chunk, text_hash, dims, hex(vector) AS vector FROM memory_vectors").all(),
    )
    expect(stored.map((row) => ({ ...row }))).toEqual([
      { kind: "session", ref: "a", chunk: 0, text_hash: "one", dims: 2, vector: "00000000000080BF" },
    ])
    await at.index.remove("a")
    expect([await at.index.vectorDims(), await at.index.withoutVector(5)]).toEqual([2, []])
    await at.index.remove("b")
    expect(await at.index.vectorDims()).toBeUndefined()
  })

  test("can be dropped; the newest texts come first to get new ones", async () => {
    await using at = await indexBench()
    await at.index.put([chunk("a", "one"), chunk("b", "two"), chunk("c", "three")])
    await at.index.putVectors([{ textHash: "three", vector: vector(1) }])
    await at.index.dropVectors()
    expect((await at.index.withoutVector(2)).map(({ text }) => text)).toEqual(["three", "two"])
  })
})
