import type { MessageWords, SearchableMessage } from "../../protocol/message-words.ts"
import { termsOf } from "../semantic-search/terms.ts"

/** Below this, equal texts are a coincidence: a message "zebrafish" is a result for "zebrafish". */
const MIN_REPEATED_WORDS = 3

/** True for a message that says the same as the query, or asks it in fewer words: it cannot be the answer. */
export function repeatsQuery(text: string, query: string, queryTerms: ReadonlySet<string>): boolean {
  if (equalsQuery(text, query)) return true
  if (!isQuestion(text)) return false
  const terms = new Set(termsOf(text))
  return terms.size > 1 && terms.isSubsetOf(queryTerms)
}

/** True for a message with the words of the query in the same order. */
export function equalsQuery(text: string, query: string): boolean {
  if (Math.abs(text.length - query.length) > MAX_LENGTH_DIFFERENCE) return false
  const words = wordsOf(text)
  return words.length >= MIN_REPEATED_WORDS && words.join(" ") === wordsOf(query).join(" ")
}

/** Spaces and punctuation. */
const MAX_LENGTH_DIFFERENCE = 20

export function isQuestion(text: string): boolean {
  return /\?\W*$/u.test(text.slice(-QUESTION_END))
}

const QUESTION_END = 8

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

/**
 * The ids of the messages that made the model search: the user's messages that are followed by a call of the search tool. They ask
 * for something that was said elsewhere.
 */
export function promptsOfSearches(
  line: readonly SearchableMessage[],
  isSearchCall: (toolName: string) => boolean,
): readonly number[] {
  const prompts: number[] = []
  let prompt: SearchableMessage | undefined
  for (const row of line) {
    if (row.role === "user") prompt = row
    else if (prompt !== undefined && row.calledTools.some(isSearchCall)) prompts.push(prompt.id)
  }
  return prompts
}

/** How many stored messages after a prompt the call may be. */
const CALL_DISTANCE = 4

/** The messages without those that ask the same as the query, or that made the model search. */
export async function withoutQuestions(
  rows: readonly SearchableMessage[],
  source: Pick<MessageWords, "around">,
  options: { readonly query: string; readonly isSearchCall: (toolName: string) => boolean },
): Promise<readonly SearchableMessage[]> {
  const queryTerms = new Set(termsOf(options.query))
  const asking = rows.filter(({ role }) => role === "user")
  const around = await source.around(
    asking.map(({ id }) => id),
    CALL_DISTANCE,
  )
  const lines = Map.groupBy(around, ({ sessionId }) => sessionId)
  const prompts = new Set([...lines.values()].flatMap((line) => promptsOfSearches(line, options.isSearchCall)))
  return rows.filter(({ id, text }) => !prompts.has(id) && !repeatsQuery(text, options.query, queryTerms))
}
