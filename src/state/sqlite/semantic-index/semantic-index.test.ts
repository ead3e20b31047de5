import { statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import {
  recordingLogger,
  sessionId,
  temporaryDirectory,
  testClock,
  withRawDatabase,
} from "../../../../test/fixtures/state/temporary-store.ts"
import type { TextChunk, SemanticIndex } from "../../../protocol/semantic-index.ts"
import { openSemanticIndex } from "./semantic-index.ts"

interface IndexBench extends AsyncDisposable {
  readonly index: SemanticIndex
  readonly path: string
  readonly log: ReturnType<typeof recordingLogger>
}

async function indexBench(prepare: (path: string) => void = () => undefined): Promise<IndexBench> {
  const folder = temporaryDirectory()
  const path = join(folder.path, "deep", "memory_index.db")
  const log = recordingLogger()
  const options = { path, clock: testClock(), log }
  const first = await openSemanticIndex(options)
  await first.close()
  prepare(path)
  const index = await openSemanticIndex(options)
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

function chunk(ref: string, terms: string, more: Partial<TextChunk> = {}): TextChunk {
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
  test("is readable only by its owner, and its directory is created", async () => {
    await using bench = await indexBench()
    expect(statSync(bench.path).mode & 0o777).toBe(0o600)
  })

  test("keeps its contents between runs", async () => {
    await using bench = await indexBench()
    await bench.index.put([chunk("a", "one two")])
    const again = await openSemanticIndex({ path: bench.path, clock: testClock(), log: recordingLogger() })
    expect(await again.postings(["two"])).toEqual(new Map([["two", [1]]]))
    await again.close()
  })

  test("is rebuilt when it is damaged", async () => {
    await using bench = await indexBench((path) => {
      writeFileSync(path, "no database at all, but long enough to be taken for one".repeat(20))
    })
    await bench.index.put([chunk("a", "one")])
    expect([(await bench.index.termStatistics([])).chunkCount, bench.log.warnings.length]).toEqual([1, 1])
  })

  test("is emptied when its schema version differs", async () => {
    await using bench = await indexBench((path) => {
      withRawDatabase(path, (db) => {
        db.exec("INSERT INTO notes(key, value) VALUES ('a', 'b'); PRAGMA user_version = 99")
      })
    })
    expect(await bench.index.metadata("a")).toBeUndefined()
  })
})

describe("terms", () => {
  test("are counted by chunk and deleted with the last chunk that contains them", async () => {
    await using bench = await indexBench()
    await bench.index.put([chunk("a", "x x y"), chunk("b", "x z")])
    expect(await bench.index.termStatistics(["x", "y", "z", "w"])).toEqual({
      chunkCount: 2,
      averageLength: 2.5,
      documentFrequency: new Map([
        ["x", 2],
        ["y", 1],
        ["z", 1],
      ]),
    })
    await bench.index.remove("a")
    expect(await bench.index.termStatistics(["x", "y"])).toEqual({
      chunkCount: 1,
      averageLength: 2,
      documentFrequency: new Map([["x", 1]]),
    })
    expect([await bench.index.postings(["x", "y"]), await bench.index.termsWithPrefix("", 5)]).toEqual([
      new Map([
        ["x", [2]],
        ["y", []],
      ]),
      ["x", "z"],
    ])
  })

  test("a deleted text leaves no term behind", async () => {
    await using bench = await indexBench()
    await bench.index.put([chunk("a", "topsecretword")])
    await bench.index.remove("a")
    expect([await bench.index.similarTerms("topsecretwort", 5), await bench.index.chunks([1])]).toEqual([[], []])
  })

  test.each([
    ["prometheus", ["prometheus", "prometheu"]],
    ["dailno", ["dalino"]],
    ["xy", []],
    ["grüsse", ["grüße"]],
  ])("the terms similar to %s are %j", async (term, expected) => {
    await using bench = await indexBench()
    await bench.index.put([chunk("a", "prometheus prometheu dalino grüße 大别")])
    expect((await bench.index.similarTerms(term, 5)).toSorted()).toEqual(expected.toSorted())
  })

  test("of any script are kept whole", async () => {
    await using bench = await indexBench()
    await bench.index.put([chunk("a", "大别 ǂmoney größe naïve привет 𝒳y")])
    const terms = ["大别", "ǂmoney", "größe", "naïve", "привет", "𝒳y", "大", "money"]
    const found = await bench.index.postings(terms)
    expect(terms.filter((term) => found.get(term)?.length === 1)).toEqual(terms.slice(0, 6))
  })
})

describe("chunks", () => {
  test("of a ref are replaced together, and kept when nothing changed", async () => {
    await using bench = await indexBench()
    const parts = [chunk("a", "one"), chunk("a", "two", { chunk: 1 })]
    await bench.index.put(parts)
    await bench.index.put(parts)
    expect(await bench.index.postings(["one"])).toEqual(new Map([["one", [1]]]))
    await bench.index.put([chunk("a", "three")])
    expect(await bench.index.refs("session")).toEqual([{ ref: "a", chunk: 0, textHash: "three" }])
    expect((await bench.index.chunks([1])).map(({ text }) => text)).toEqual(["three"])
  })

  test("of other kinds with the same ref stay; removing a ref removes the refs below it", async () => {
    await using bench = await indexBench()
    await bench.index.put([
      chunk("s", "x"),
      chunk("s#1", "x"),
      chunk("s#2", "x"),
      chunk("s2#1", "x"),
      chunk("m", "x", { kind: "memory" }),
    ])
    await bench.index.put([chunk("m", "y", { kind: "user" })])
    expect([await bench.index.idsOfKinds(["memory", "user"]), await bench.index.idsOfKinds(["learning"])]).toEqual([
      [5, 6],
      [],
    ])
    await bench.index.remove("s")
    expect((await bench.index.refs("session")).map(({ ref }) => ref)).toEqual(["s2#1"])
    expect([await bench.index.idsUnderRef("s"), await bench.index.idsUnderRef("s2")]).toEqual([[], [4]])
  })

  test("how much of a session is indexed is recorded, and removed with the session", async () => {
    await using bench = await indexBench()
    const indexed = { sessionId: sessionId("s"), lastMessageId: 7, lastActivity: 12.5, messageCount: 3 }
    await bench.index.put([chunk("s#7", "x")], indexed)
    expect(await bench.index.indexedSessions([sessionId("s"), sessionId("other")])).toEqual(new Map([["s", indexed]]))
    await bench.index.remove("s")
    expect(await bench.index.indexedSessionIds()).toEqual([])
  })

  test("`clear` deletes everything", async () => {
    await using bench = await indexBench()
    await bench.index.put([chunk("a", "x")])
    await bench.index.setMetadata("k", "v")
    await bench.index.clear()
    expect([await bench.index.termStatistics(["x"]), await bench.index.metadata("k")]).toEqual([
      { chunkCount: 0, averageLength: 0, documentFrequency: new Map() },
      undefined,
    ])
  })
})

describe("vectors", () => {
  const vector = (...values: number[]): Float32Array => Float32Array.from(values)

  test("are compared by cosine, among the given kinds and vectors of the same length", async () => {
    await using bench = await indexBench()
    await bench.index.put([chunk("a", "one"), chunk("b", "two"), chunk("c", "three", { kind: "memory" })])
    await bench.index.putVectors([
      { textHash: "one", vector: vector(5, 0) },
      { textHash: "two", vector: vector(3, 3) },
      { textHash: "three", vector: vector(0, 1) },
      { textHash: "unknown", vector: vector(1, 0) },
    ])
    const nearest = await bench.index.nearest(vector(2, 0), { kinds: ["session", "memory"], limit: 2 })
    expect(nearest.map(({ id, cosine }) => [id, Number(cosine.toFixed(4))])).toEqual([
      [1, 1],
      [2, 0.7071],
    ])
    expect(await bench.index.nearest(vector(2, 0), { kinds: ["memory"], limit: 5 })).toEqual([{ id: 3, cosine: 0 }])
    expect(await bench.index.nearest(vector(1, 0, 0), { kinds: ["session"], limit: 5 })).toEqual([])
  })

  test("are stored as normalized little-endian float32 until the last chunk with their text is removed", async () => {
    await using bench = await indexBench()
    await bench.index.put([chunk("a", "one"), chunk("b", "one")])
    await bench.index.putVectors([{ textHash: "one", vector: vector(0, -4) }])
    const stored = withRawDatabase(bench.path, (db) =>
      db.prepare("SELECT kind, ref, chunk, text_hash, dims, hex(vector) AS vector FROM memory_vectors").all(),
    )
    expect(stored.map((row) => ({ ...row }))).toEqual([
      { kind: "session", ref: "a", chunk: 0, text_hash: "one", dims: 2, vector: "00000000000080BF" },
    ])
    await bench.index.remove("a")
    expect([await bench.index.vectorDimensions(), await bench.index.textsWithoutVector(5)]).toEqual([2, []])
    await bench.index.remove("b")
    expect(await bench.index.vectorDimensions()).toBeUndefined()
  })

  test("can be deleted; the newest texts are embedded first", async () => {
    await using bench = await indexBench()
    await bench.index.put([chunk("a", "one"), chunk("b", "two"), chunk("c", "three")])
    await bench.index.putVectors([{ textHash: "three", vector: vector(1) }])
    await bench.index.deleteVectors()
    expect((await bench.index.textsWithoutVector(2)).map(({ text }) => text)).toEqual(["three", "two"])
  })
})
