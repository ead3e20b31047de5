/** `node test/bench/memory-retrieval.ts`: recall and speed of the semantic search. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

import { systemClock } from "../../src/base/clock.ts"
import { parseConcepts } from "../../src/knowledge/semantic-search/concepts.ts"
import type { IndexEntry } from "../../src/knowledge/semantic-search/entry-chunks.ts"
import { createSemanticSearch } from "../../src/knowledge/semantic-search/semantic-search.ts"
import type { SemanticSearch } from "../../src/knowledge/semantic-search/semantic-search.ts"
import { createLexicon } from "../../src/knowledge/semantic-search/lexicon.ts"
import type { Lexicon } from "../../src/knowledge/semantic-search/lexicon.ts"
import { openSemanticIndex } from "../../src/state/sqlite/semantic-index/semantic-index.ts"
import { seededRandom } from "../support/seeded-random.ts"
import {
  CHATTER,
  LATER_PERSON_QUESTIONS,
  LATER_PROJECT_QUESTIONS,
  LATER_SINGLE_FACTS,
  NAMES,
  PERSON_TOPICS,
  PROJECT_TOPICS,
  SINGLE_FACTS,
} from "./memory-retrieval-corpus.ts"
import type { Topic } from "./memory-retrieval-corpus.ts"
import { median } from "./measurement.ts"
import type { Measurement, Row } from "./measurement.ts"

const SEED = 20_261_115
const RESULT_LIMIT = 10
const DAY = 86_400
const OLDEST_DAYS = 400
const BATCH = 500

/** Recall over ten thousand entries that are as similar as notes about a hundred projects and a hundred people. */
export const memoryRetrieval: Measurement = {
  name: "memory-retrieval",
  slow: true,
  run: async () => {
    const directory = mkdtempSync(join(tmpdir(), "hermes-bench-recall-"))
    try {
      const log = { debug: () => undefined, warning: () => undefined }
      const index = await openSemanticIndex({ path: join(directory, "memory_index.db"), clock: systemClock, log })
      try {
        return await measure(createSemanticSearch({ index, clock: systemClock }))
      } finally {
        await index.close()
      }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  },
}

async function measure(search: SemanticSearch): Promise<readonly Row[]> {
  const { facts, questions } = createCorpus(seededRandom(SEED))
  const started = performance.now()
  for (let start = 0; start < facts.length; start += BATCH) {
    await search.index(facts.slice(start, start + BATCH).map(({ entry }) => entry))
  }
  const built = performance.now() - started
  const results: QueryResult[] = []
  for (const question of questions) results.push(await runQuery(search, question))
  const times = results.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const groups = [...Map.groupBy(results, ({ group }) => group)].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [
    { name: "recall: entries", unit: "count", ours: facts.length },
    { name: "recall: indexing all of them", unit: "s", ours: built / 1000 },
    { name: "recall@10: all questions", unit: "share", ours: shareFound(results), target: { atLeast: 0.9 } },
    ...groups.map(([group, groupResults]): Row => ({
      name: `recall@10: ${group} (${groupResults.length})`,
      unit: "share",
      ours: shareFound(groupResults),
    })),
    { name: "recall: one query", unit: "ms", ours: median(times), target: { atMost: 5 } },
    { name: "recall: one query, 95 % are below", unit: "ms", ours: times[Math.floor(times.length * 0.95)] ?? 0 },
  ]
}

interface Fact {
  readonly entry: IndexEntry
  /** The sentence without the chatter around it. */
  readonly sentence: string
}

interface Question {
  readonly text: string
  readonly fact: Fact
  readonly group: string
}

interface QueryResult {
  readonly group: string
  readonly found: boolean
  readonly ms: number
}

async function runQuery(search: SemanticSearch, { text, fact, group }: Question): Promise<QueryResult> {
  const started = performance.now()
  const hits = await search.search(text, { limit: RESULT_LIMIT })
  const ms = performance.now() - started
  return { group, ms, found: hits.some(({ ref }) => ref === fact.entry.ref) }
}

function shareFound(results: readonly QueryResult[]): number {
  return results.filter(({ found }) => found).length / results.length
}

function createCorpus(random: () => number): {
  readonly facts: readonly Fact[]
  readonly questions: readonly Question[]
} {
  const lexicon = createLexicon()
  const facts: Fact[] = []
  const addFact = (sentence: string): Fact => {
    const chatter = (): string => CHATTER[Math.floor(random() * CHATTER.length)] ?? ""
    const text = random() < 0.5 ? `${chatter()} ${sentence} ${chatter()}` : `${sentence} ${chatter()}`
    const createdAt = systemClock.now() / 1000 - random() * OLDEST_DAYS * DAY
    const fact = { sentence, entry: { kind: "session" as const, ref: `s#${facts.length + 1}`, text, createdAt } }
    facts.push(fact)
    return fact
  }
  const questions: Question[] = []
  const half = NAMES.length / 2
  for (const [topics, later, names] of [
    [PROJECT_TOPICS, LATER_PROJECT_QUESTIONS, NAMES.slice(0, half)],
    [PERSON_TOPICS, LATER_PERSON_QUESTIONS, NAMES.slice(half)],
  ] as const) {
    for (const [index, topic] of topics.entries()) {
      const namedFacts = names.map((name) => ({ name, fact: addFact(createSentence(topic, name, random)) }))
      questions.push(...createQuestions({ topic, later: later[index] ?? "" }, namedFacts, { random, lexicon }))
    }
  }
  for (const [sentence, question] of SINGLE_FACTS) {
    const group = `said once, ${overlapOf(question, sentence, lexicon)}`
    questions.push({ text: question, fact: addFact(sentence), group })
  }
  for (const [sentence, question] of LATER_SINGLE_FACTS) {
    questions.push({ text: question, fact: addFact(sentence), group: "held out, said once" })
  }
  return { facts, questions }
}

function createSentence(topic: Topic, name: string, random: () => number): string {
  const value = topic.values[Math.floor(random() * topic.values.length)] ?? ""
  return topic.sentence.replace("{n}", name).replace("{v}", value)
}

/** Asks each question of the topic about two names, one of them also misspelt, and the held-out question about another. */
function createQuestions(
  { topic, later }: { readonly topic: Topic; readonly later: string },
  namedFacts: readonly { readonly name: string; readonly fact: Fact }[],
  { random, lexicon }: { readonly random: () => number; readonly lexicon: Lexicon },
): readonly Question[] {
  const pick = (): { readonly name: string; readonly fact: Fact } => {
    const picked = namedFacts[Math.floor(random() * namedFacts.length)]
    if (picked === undefined) throw new Error("the topic has no names")
    return picked
  }
  const questions = topic.questions.flatMap((question) =>
    [pick(), pick()].map(({ name, fact }) => ({
      text: question.replace("{n}", name),
      fact,
      group: `about a name, ${overlapOf(question.replace("{n}", ""), fact.sentence, lexicon)}`,
    })),
  )
  const [one, other] = [pick(), pick()]
  const misspelt = misspell(topic.questions[0].replace("{n}", one.name), random)
  return [
    ...questions,
    { text: misspelt, fact: one.fact, group: "about a name, misspelt" },
    { text: later.replace("{n}", other.name), fact: other.fact, group: "held out, about a name" },
  ]
}

/** What the lexicon finds in common between the question and the sentence, apart from names. */
function overlapOf(question: string, sentence: string, lexicon: Lexicon): string {
  const known = new Set(lexicon.indexTerms(sentence))
  const qualities = parseConcepts(question, lexicon).flatMap(({ forms }) =>
    forms.filter(({ terms }) => terms.every((term) => known.has(term))).map(({ quality }) => quality),
  )
  const best = Math.max(0, ...qualities)
  return best === 1 ? "words shared" : best > 0.6 ? "synonyms only" : best > 0 ? "same field only" : "nothing shared"
}

/** Omits, doubles or swaps a letter in one of the longer words. */
function misspell(text: string, random: () => number): string {
  const words = text.split(" ")
  const long = words.flatMap((word, index) => (word.length >= 6 ? [index] : []))
  const index = long[Math.floor(random() * long.length)]
  const word = index === undefined ? undefined : words[index]
  if (index === undefined || word === undefined) return text
  const offset = 1 + Math.floor(random() * (word.length - 2))
  const [before, one, two, after] = [
    word.slice(0, offset),
    word.slice(offset, offset + 1),
    word.slice(offset + 1, offset + 2),
    word.slice(offset + 2),
  ]
  const misspellings = [
    `${before}${two}${after}`,
    `${before}${one}${one}${two}${after}`,
    `${before}${two}${one}${after}`,
  ]
  return words.with(index, misspellings[Math.floor(random() * misspellings.length)] ?? word).join(" ")
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const rows = await memoryRetrieval.run({ rounds: { startUp: 0, oneShot: 0 }, meter: undefined })
  console.table(rows.map(({ name, unit, ours }) => ({ name, unit, ours: Number(ours.toFixed(3)) })))
}
