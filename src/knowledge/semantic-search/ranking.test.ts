import { describe, expect, test } from "vitest"
import { bestCandidates, selectiveForms } from "./candidates.ts"
import { diversify, hybridScores, keywordScores } from "./ranking.ts"
import type { IndexedChunk, TermStatistics } from "../../protocol/semantic-index.ts"

const DAY = 86_400
const NOW = 1_800_000_000

function chunk(id: number, terms: string, ageDays = 0): IndexedChunk {
  const createdAt = NOW - ageDays * DAY
  return { id, kind: "session", ref: `r${id}`, chunk: 0, text: terms, terms: terms.split(" "), textHash: "", createdAt }
}

function statisticsOf(frequency: Readonly<Record<string, number>>, chunkCount = 100): TermStatistics {
  return { chunkCount, averageLength: 3, documentFrequency: new Map(Object.entries(frequency)) }
}

const own = (term: string) => ({ forms: [{ terms: [term], quality: 1 }] })

describe("keyword scores", () => {
  const statistics = statisticsOf({ port: 4, databas: 4, db: 4, store: 4, pull: 4, request: 4 })

  test("a text with two query words beats one with many synonyms of a single word", () => {
    const concepts = [
      own("port"),
      {
        forms: [
          { terms: ["databas"], quality: 1 },
          { terms: ["db"], quality: 0.7 },
          { terms: ["store"], quality: 0.7 },
        ],
      },
    ]
    const [both, many] = [chunk(1, "port db x"), chunk(2, "databas db store")]
    const scores = keywordScores(concepts, [both, many], statistics)
    expect(scores.get(both)).toBeGreaterThan(scores.get(many) ?? 0)
  })

  test("query words in one sentence score higher than in two", () => {
    const [together, apart] = [chunk(1, "x . port databas"), chunk(2, "port . x databas")]
    const scores = keywordScores([own("port"), own("databas")], [together, apart], statistics)
    expect(scores.get(together)).toBeGreaterThan(scores.get(apart) ?? 0)
  })

  test("a phrase matches only with all its words", () => {
    const phrase = { forms: [{ terms: ["pull", "request"], quality: 1 }] }
    const [whole, half] = [chunk(1, "pull x request"), chunk(2, "pull x y")]
    expect([...keywordScores([phrase], [whole, half], statistics).keys()]).toEqual([whole])
  })

  test("rare words score higher than common ones", () => {
    const [rare, common] = [chunk(1, "rare x y"), chunk(2, "common x y")]
    const scores = keywordScores([own("rare"), own("common")], [rare, common], statisticsOf({ rare: 1, common: 60 }))
    expect(scores.get(rare)).toBeGreaterThan(scores.get(common) ?? 0)
  })
})

describe("candidates", () => {
  test("are the chunks that cover most of the query and pass the filter", () => {
    const concepts = [own("a"), own("b")]
    const postings = new Map([
      ["a", [1, 2, 3, 4]],
      ["b", [2, 4]],
    ])
    const search = { concepts, statistics: statisticsOf({ a: 4, b: 2 }), postings }
    const found = (limit: number, isIncluded = (_id: number): boolean => true): readonly number[] =>
      bestCandidates(search, { limit, isIncluded })
    expect(found(10)).toEqual([1, 2, 3, 4])
    expect(found(2)).toEqual([4, 2])
    expect(found(1, (id) => id !== 4)).toEqual([2])
  })

  test("postings of common words are not read", () => {
    const statistics = statisticsOf({ rare: 3, common: 5000, also: 5000 }, 20_000)
    const forms = selectiveForms([own("common"), own("also"), own("rare")], statistics)
    expect(forms.map(({ terms }) => terms[0])).toEqual(["rare", "common"])
    expect(selectiveForms([own("common")], statisticsOf({ common: 90_000 }, 100_000))).toHaveLength(1)
  })
})

describe("hybrid score", () => {
  test("without vectors: keywords 0.9 and recency 0.1 with a half-life of 30 days", () => {
    const [fresh, old] = [chunk(1, "a"), chunk(2, "a", 30)]
    const keyword = new Map([
      [fresh, 2],
      [old, 4],
    ])
    const scores = hybridScores({ keyword, cosine: new Map(), now: NOW })
    expect(scores.map(({ chunk: { id }, score }) => [id, Number(score.toFixed(6))])).toEqual([
      [2, 0.95],
      [1, 0.55],
    ])
  })

  test("with vectors: similarity 0.55, keywords 0.35, recency 0.1", () => {
    const [both, similar, matching] = [chunk(1, "a"), chunk(2, "b", 30), chunk(3, "a", 3000)]
    const scores = hybridScores({
      keyword: new Map([
        [both, 1],
        [matching, 3],
      ]),
      cosine: new Map([
        [both, 0.5],
        [similar, 0.8],
      ]),
      now: NOW,
    })
    expect(scores.map(({ chunk: { id }, score }) => [id, Number(score.toFixed(4))])).toEqual([
      [both.id, Number((0.55 * 0.5 + 0.35 / 3 + 0.1).toFixed(4))],
      [similar.id, Number((0.55 * 0.8 + 0.1 * 0.5).toFixed(4))],
      [matching.id, 0.35],
    ])
  })

  test("a repetition of the best hit ranks behind a different one", () => {
    const scored = [
      { chunk: chunk(1, "a b c"), score: 1 },
      { chunk: chunk(2, "a b c"), score: 0.99 },
      { chunk: chunk(3, "d e f"), score: 0.7 },
    ]
    expect(diversify(scored, 3).map(({ chunk: { id } }) => id)).toEqual([1, 3, 2])
    expect(diversify(scored, 1).map(({ chunk: { id } }) => id)).toEqual([1])
  })
})
