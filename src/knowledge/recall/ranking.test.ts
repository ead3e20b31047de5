import { describe, expect, test } from "vitest"
import { bestCandidates, tellingForms } from "./candidates.ts"
import { diversified, hybridScores, keywordScores } from "./ranking.ts"
import type { FoundChunk, TermUse } from "./recall-index.ts"

const DAY = 86_400
const NOW = 1_800_000_000

function chunk(id: number, terms: string, ageDays = 0): FoundChunk {
  const createdAt = NOW - ageDays * DAY
  return { id, kind: "session", ref: `r${id}`, chunk: 0, text: terms, terms: terms.split(" "), textHash: "", createdAt }
}

function useOf(uses: Readonly<Record<string, number>>, entries = 100): TermUse {
  return { entries, averageTerms: 3, uses: new Map(Object.entries(uses)) }
}

const own = (term: string) => ({ forms: [{ terms: [term], quality: 1 }] })

describe("words", () => {
  const use = useOf({ port: 4, databas: 4, db: 4, store: 4, pull: 4, request: 4 })

  test("two of the words beat many synonyms of one", () => {
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
    const scores = keywordScores(concepts, [both, many], use)
    expect(scores.get(both)).toBeGreaterThan(scores.get(many) ?? 0)
  })

  test("said in one sentence counts more than said in two", () => {
    const [together, apart] = [chunk(1, "x . port databas"), chunk(2, "port . x databas")]
    const scores = keywordScores([own("port"), own("databas")], [together, apart], use)
    expect(scores.get(together)).toBeGreaterThan(scores.get(apart) ?? 0)
  })

  test("a phrase needs all its words", () => {
    const phrase = { forms: [{ terms: ["pull", "request"], quality: 1 }] }
    const [whole, half] = [chunk(1, "pull x request"), chunk(2, "pull x y")]
    expect([...keywordScores([phrase], [whole, half], use).keys()]).toEqual([whole])
  })

  test("rare words weigh more than common ones", () => {
    const [rare, common] = [chunk(1, "rare x y"), chunk(2, "common x y")]
    const scores = keywordScores([own("rare"), own("common")], [rare, common], useOf({ rare: 1, common: 60 }))
    expect(scores.get(rare)).toBeGreaterThan(scores.get(common) ?? 0)
  })
})

describe("candidates", () => {
  test("are those that cover most, only wanted ones", () => {
    const concepts = [own("a"), own("b")]
    const postings = new Map([
      ["a", [1, 2, 3, 4]],
      ["b", [2, 4]],
    ])
    const search = { concepts, use: useOf({ a: 4, b: 2 }), postings }
    const found = (limit: number, isWanted = (_id: number): boolean => true): readonly number[] =>
      bestCandidates(search, { limit, isWanted })
    expect(found(10)).toEqual([1, 2, 3, 4])
    expect(found(2)).toEqual([4, 2])
    expect(found(1, (id) => id !== 4)).toEqual([2])
  })

  test("the lists of common words are not read", () => {
    const use = useOf({ rare: 3, common: 5000, also: 5000 }, 20_000)
    const forms = tellingForms([own("common"), own("also"), own("rare")], use)
    expect(forms.map(({ terms }) => terms[0])).toEqual(["rare", "common"])
    expect(tellingForms([own("common")], useOf({ common: 90_000 }, 100_000))).toHaveLength(1)
  })
})

describe("the figure", () => {
  test("without vectors: words 0.9 and recency 0.1, which halves in thirty days", () => {
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

  test("with vectors: nearness 0.55, words 0.35, recency 0.1", () => {
    const [both, near, worded] = [chunk(1, "a"), chunk(2, "b", 30), chunk(3, "a", 3000)]
    const scores = hybridScores({
      keyword: new Map([
        [both, 1],
        [worded, 3],
      ]),
      cosine: new Map([
        [both, 0.5],
        [near, 0.8],
      ]),
      now: NOW,
    })
    expect(scores.map(({ chunk: { id }, score }) => [id, Number(score.toFixed(4))])).toEqual([
      [both.id, Number((0.55 * 0.5 + 0.35 / 3 + 0.1).toFixed(4))],
      [near.id, Number((0.55 * 0.8 + 0.1 * 0.5).toFixed(4))],
      [worded.id, 0.35],
    ])
  })

  test("a repetition of the best comes behind something else", () => {
    const scored = [
      { chunk: chunk(1, "a b c"), score: 1 },
      { chunk: chunk(2, "a b c"), score: 0.99 },
      { chunk: chunk(3, "d e f"), score: 0.7 },
    ]
    expect(diversified(scored, 3).map(({ chunk: { id } }) => id)).toEqual([1, 3, 2])
    expect(diversified(scored, 1).map(({ chunk: { id } }) => id)).toEqual([1])
  })
})
