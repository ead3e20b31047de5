/** `node test/bench/memory-retrieval.ts`: how well facts are found again by other words, and how long that takes. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

import { systemClock } from "../../src/base/clock.ts"
import { conceptsOf } from "../../src/knowledge/recall/concepts.ts"
import type { RecallEntry } from "../../src/knowledge/recall/entry-chunks.ts"
import { createRecall } from "../../src/knowledge/recall/recall.ts"
import type { Recall } from "../../src/knowledge/recall/recall.ts"
import { createLexicon } from "../../src/knowledge/recall/lexicon.ts"
import type { Lexicon } from "../../src/knowledge/recall/lexicon.ts"
import { openRecallIndex } from "../../src/state/sqlite/recall-index.ts"
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
const FOUND_WITHIN = 10
const DAY = 86_400
const OLDEST_DAYS = 400
const BATCH = 500

/** Recall over ten thousand entries that are as like each other as notes about a hundred projects and a hundred people are. */
export const memoryRetrieval: Measurement = {
  name: "memory-retrieval",
  slow: true,
  run: async () => {
    const folder = mkdtempSync(join(tmpdir(), "hermes-bench-recall-"))
    try {
      const log = { debug: () => undefined, warning: () => undefined }
      const index = await openRecallIndex({ path: join(folder, "memory_index.db"), clock: systemClock, log })
      try {
        return await measure(createRecall({ index, clock: systemClock }))
      } finally {
        await index.close()
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function measure(recall: Recall): Promise<readonly Row[]> {
  const { facts, questions } = makeCorpus(seededRandom(SEED))
  const started = performance.now()
  for (let at = 0; at < facts.length; at += BATCH) {
    await recall.index(facts.slice(at, at + BATCH).map(({ entry }) => entry))
  }
  const built = performance.now() - started
  const answered: Answered[] = []
  for (const question of questions) answered.push(await ask(recall, question))
  const times = answered.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const groups = [...Map.groupBy(answered, ({ group }) => group)].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [
    { name: "recall: entries", unit: "count", ours: facts.length },
    { name: "recall: indexing all of them", unit: "s", ours: built / 1000 },
    { name: "recall@10: all questions", unit: "share", ours: shareFound(answered), target: { atLeast: 0.9 } },
    ...groups.map(([group, some]): Row => ({
      name: `recall@10: ${group} (${some.length})`,
      unit: "share",
      ours: shareFound(some),
    })),
    { name: "recall: one query", unit: "ms", ours: median(times), target: { atMost: 5 } },
    { name: "recall: one query, 95 % are below", unit: "ms", ours: times[Math.floor(times.length * 0.95)] ?? 0 },
  ]
}

interface Fact {
  readonly entry: RecallEntry
  /** Without what stands around it. */
  readonly said: string
}

interface Question {
  readonly text: string
  readonly fact: Fact
  readonly group: string
}

interface Answered {
  readonly group: string
  readonly found: boolean
  readonly ms: number
}

async function ask(recall: Recall, { text, fact, group }: Question): Promise<Answered> {
  const started = performance.now()
  const hits = await recall.search(text, { limit: FOUND_WITHIN })
  const ms = performance.now() - started
  return { group, ms, found: hits.some(({ ref }) => ref === fact.entry.ref) }
}

function shareFound(answered: readonly Answered[]): number {
  return answered.filter(({ found }) => found).length / answered.length
}

function makeCorpus(random: () => number): {
  readonly facts: readonly Fact[]
  readonly questions: readonly Question[]
} {
  const lexicon = createLexicon()
  const facts: Fact[] = []
  const keep = (said: string): Fact => {
    const around = (): string => CHATTER[Math.floor(random() * CHATTER.length)] ?? ""
    const text = random() < 0.5 ? `${around()} ${said} ${around()}` : `${said} ${around()}`
    const createdAt = systemClock.now() / 1000 - random() * OLDEST_DAYS * DAY
    const fact = { said, entry: { kind: "session" as const, ref: `s#${facts.length + 1}`, text, createdAt } }
    facts.push(fact)
    return fact
  }
  const questions: Question[] = []
  const half = NAMES.length / 2
  for (const [topics, later, names] of [
    [PROJECT_TOPICS, LATER_PROJECT_QUESTIONS, NAMES.slice(0, half)],
    [PERSON_TOPICS, LATER_PERSON_QUESTIONS, NAMES.slice(half)],
  ] as const) {
    for (const [at, topic] of topics.entries()) {
      const told = names.map((name) => ({ name, fact: keep(sentence(topic, name, random)) }))
      questions.push(...questionsOf({ topic, later: later[at] ?? "" }, told, { random, lexicon }))
    }
  }
  for (const [said, asked] of SINGLE_FACTS) {
    questions.push({ text: asked, fact: keep(said), group: `said once, ${overlapOf(asked, said, lexicon)}` })
  }
  for (const [said, asked] of LATER_SINGLE_FACTS) {
    questions.push({ text: asked, fact: keep(said), group: "held out, said once" })
  }
  return { facts, questions }
}

function sentence(topic: Topic, name: string, random: () => number): string {
  const value = topic.values[Math.floor(random() * topic.values.length)] ?? ""
  return topic.said.replace("{n}", name).replace("{v}", value)
}

/** Each way of asking about two of the names, once with a slip of the finger, and the question written later. */
function questionsOf(
  { topic, later }: { readonly topic: Topic; readonly later: string },
  told: readonly { readonly name: string; readonly fact: Fact }[],
  { random, lexicon }: { readonly random: () => number; readonly lexicon: Lexicon },
): readonly Question[] {
  const about = (): { readonly name: string; readonly fact: Fact } => {
    const one = told[Math.floor(random() * told.length)]
    if (one === undefined) throw new Error("a topic without names")
    return one
  }
  const questions = topic.asked.flatMap((asked) =>
    [about(), about()].map(({ name, fact }) => ({
      text: asked.replace("{n}", name),
      fact,
      group: `about a name, ${overlapOf(asked.replace("{n}", ""), fact.said, lexicon)}`,
    })),
  )
  const [one, other] = [about(), about()]
  const slip = misspelt(topic.asked[0].replace("{n}", one.name), random)
  return [
    ...questions,
    { text: slip, fact: one.fact, group: "about a name, misspelt" },
    { text: later.replace("{n}", other.name), fact: other.fact, group: "held out, about a name" },
  ]
}

/** What question and fact have in common, names aside; the rest of the question is other words that nothing here knows. */
function overlapOf(asked: string, said: string, lexicon: Lexicon): string {
  const known = new Set(lexicon.indexTerms(said))
  const qualities = conceptsOf(asked, lexicon).flatMap(({ forms }) =>
    forms.filter(({ terms }) => terms.every((term) => known.has(term))).map(({ quality }) => quality),
  )
  const best = Math.max(0, ...qualities)
  return best === 1 ? "words shared" : best > 0.6 ? "synonyms only" : best > 0 ? "same field only" : "nothing shared"
}

/** One of the longer words loses a letter, doubles one or has two changed round. */
function misspelt(text: string, random: () => number): string {
  const words = text.split(" ")
  const long = words.flatMap((word, at) => (word.length >= 6 ? [at] : []))
  const at = long[Math.floor(random() * long.length)]
  const word = at === undefined ? undefined : words[at]
  if (at === undefined || word === undefined) return text
  const place = 1 + Math.floor(random() * (word.length - 2))
  const [before, one, two, after] = [
    word.slice(0, place),
    word.slice(place, place + 1),
    word.slice(place + 1, place + 2),
    word.slice(place + 2),
  ]
  const slips = [`${before}${two}${after}`, `${before}${one}${one}${two}${after}`, `${before}${two}${one}${after}`]
  return words.with(at, slips[Math.floor(random() * slips.length)] ?? word).join(" ")
}

/** Mulberry32: the same corpus on every machine. */
function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const rows = await memoryRetrieval.run({ rounds: { startUp: 0, oneShot: 0 }, meter: undefined })
  console.table(rows.map(({ name, unit, ours }) => ({ name, unit, ours: Number(ours.toFixed(3)) })))
}
