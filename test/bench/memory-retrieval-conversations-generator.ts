import { CLOSERS, OPENERS, TIMES } from "./memory-retrieval-conversations-corpus.ts"
import type { ConversationSet, ConversationTopic } from "./memory-retrieval-conversations-corpus.ts"

export interface GeneratedSession {
  readonly id: string
  readonly startedAt: number
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly text: string }[]
}

export interface GeneratedQuestion {
  readonly text: string
  /** The session and the index of the message that answers it. */
  readonly session: string
  readonly message: number
}

export interface GeneratedConversations {
  readonly sessions: readonly GeneratedSession[]
  readonly questions: readonly GeneratedQuestion[]
}

const FACTS_PER_SESSION = 2
const WEEK = 7 * 86_400
const START = Date.UTC(2025, 0, 6) / 1000

/** Writes the conversations of a set: per pair, every topic once for each of the two people, in random order over the sessions. */
export function generateConversations(set: ConversationSet, random: () => number): GeneratedConversations {
  const sessions: GeneratedSession[] = []
  const questions: GeneratedQuestion[] = []
  for (const [pairIndex, pair] of set.pairs.entries()) {
    const facts = shuffled(
      set.topics.flatMap((topic) => [0, 1].map((speaker) => ({ topic, speaker }))),
      random,
    )
    for (let start = 0; start < facts.length; start += FACTS_PER_SESSION) {
      const id = `pair${pairIndex}-${start / FACTS_PER_SESSION}`
      // Half of the conversations name the speaker in each message, as chat exports do.
      const writer = createWriter({ set, pair, random, withNames: pairIndex % 2 === 0 })
      for (const { topic, speaker } of facts.slice(start, start + FACTS_PER_SESSION)) {
        const { message, value } = writer.addFact(topic, speaker)
        const asked = [...topic.specific, ...shuffled(topic.questions, random).slice(0, 1)]
        questions.push(
          ...asked.map((question) => ({
            text: question.replaceAll("{n}", pair[speaker] ?? "").replaceAll("{v}", value),
            session: id,
            message,
          })),
        )
      }
      sessions.push({ id, startedAt: START + sessions.length * WEEK, messages: writer.messages })
    }
  }
  return { sessions, questions }
}

interface WriterOptions {
  readonly set: ConversationSet
  readonly pair: readonly [string, string]
  readonly random: () => number
  readonly withNames: boolean
}

function createWriter({ set, pair, random, withNames }: WriterOptions) {
  const messages: { role: "user" | "assistant"; text: string }[] = []
  let next = 0
  const pick = <T>(list: readonly T[]): T => {
    const picked = list[Math.floor(random() * list.length)]
    if (picked === undefined) throw new Error("an empty list")
    return picked
  }
  const say = (text: string, speaker = next): number => {
    const filled = text.replaceAll("{o}", pair[1 - speaker] ?? "").replaceAll("{n}", pair[speaker] ?? "")
    const sentence = filled.slice(0, 1).toUpperCase() + filled.slice(1)
    messages.push({
      role: speaker === 0 ? "user" : "assistant",
      text: withNames ? `${pair[speaker]}: ${sentence}` : sentence,
    })
    next = 1 - speaker
    return messages.length - 1
  }
  const chat = (): void => {
    const count = 3 + Math.floor(random() * 5)
    for (let index = 0; index < count; index += 1) {
      const mention = random() < 0.3 ? pick(pick(set.topics).mentions) : ""
      const small = pick(set.smallTalk)
      say(mention === "" ? small : random() < 0.5 ? mention : `${small} ${mention}`)
    }
  }
  chat()
  return {
    messages,
    addFact: (topic: ConversationTopic, speaker: number): { readonly message: number; readonly value: string } => {
      if (random() < 0.7) say(pick(topic.prompts), 1 - speaker)
      const value = pick(topic.values)
      const fact = pick(topic.facts).replaceAll("{v}", value).replaceAll("{t}", pick(TIMES))
      const message = say(`${pick(OPENERS)}${fact}${pick(CLOSERS)}`, speaker)
      if (random() < 0.8) say(pick(topic.replies), 1 - speaker)
      chat()
      return { message, value }
    },
  }
}

function shuffled<T>(list: readonly T[], random: () => number): readonly T[] {
  return list
    .map((value) => ({ value, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ value }) => value)
}
