import { statSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

import { seededRandom } from "../../support/seeded-random.ts"
import type { RecordedRequest } from "../../support/model-server/recorded-request.ts"
import { recordsIn } from "../../support/model-server/request-parts.ts"
import { callsTool, repeat, says } from "../../support/model-server/turn.ts"
import type { ReplyTurn } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

export interface LongConversationOptions {
  readonly window: number
  readonly rounds: number
  /** How many user messages the rounds are divided among. */
  readonly turns: number
  /** Characters that a round adds to the requests. */
  readonly roundChars: number
  /** How many facts are stated, in turn by the user, in a file and in a reply. */
  readonly facts: number
}

export interface LongConversationFigures {
  readonly compressions: number
  readonly rotations: number
  readonly overflows: number
  readonly sentBytes: number
  /** What a prompt cache cannot hold: the bytes of each request after those it shares with the request before. */
  readonly uncachedBytes: number
  readonly databaseBytes: number
  /** How many of the facts that the user stated are in the last request. */
  readonly userFactsVisible: number
  readonly userFacts: number
  /** How many of all facts `session_search` finds by a question, in another form of words. */
  readonly factsFound: number
}

interface Fact {
  readonly sentence: string
  /** The part of the sentence that answers the question. A small window cuts snippets to the characters around the match. */
  readonly answer: string
  readonly question: string
  readonly source: "user" | "file" | "reply"
}

/** Runs a conversation in which every round reads a file, measures its compressions, and then searches for each fact in it. */
export async function runLongConversation(options: LongConversationOptions): Promise<LongConversationFigures> {
  const { window, rounds, turns } = options
  const facts = Array.from({ length: options.facts }, (_, index) => createFact(index))
  const files = createFiles(options, facts)
  const figures = { compressions: 0, rotations: 0, overflows: 0, sentBytes: 0, uncachedBytes: 0 }
  let last = ""
  let round = 0
  /** What the model does next in the running turn. */
  let steps: ReplyTurn[] = []
  const answer = (request: RecordedRequest): ReplyTurn => {
    const tokens = Math.ceil(request.rawBody.length / 4)
    const usage = { input: tokens, output: 60 }
    if (!isMain(request)) return { ...says("## Active Task\nGo on."), usage }
    figures.sentBytes += request.rawBody.length
    figures.uncachedBytes += request.rawBody.length - sharedStart(last, request.rawBody)
    if (tokens > window) figures.overflows += 1
    last = request.rawBody
    return { ...(steps.shift() ?? says("Nothing is left to do.")), usage }
  }
  await using assembled = await assembleApp([repeat(answer)], {
    config: `  context_length: ${window}\nagent:\n  max_turns: ${rounds + 20}\n${QUIET}`,
    workFiles: files,
  })
  const session = await assembled.open()
  const run = async (text: string, planned: readonly ReplyTurn[]): Promise<void> => {
    steps = [...planned]
    const { end } = await runToEnd(session, text, (event) => {
      if (event.type === "session-rotated") figures.rotations += 1
      if (event.type === "status" && event.kind === "compress" && event.text.startsWith("compressing"))
        figures.compressions += 1
    })
    if (end.outcome !== "completed")
      throw new Error(`"${text}" ended with ${end.outcome}: ${end.result.error?.message}`)
  }
  for (let turn = 0; turn < turns; turn += 1) {
    const reads = Math.round(((turn + 1) * rounds) / turns) - Math.round((turn * rounds) / turns)
    const stated = (source: Fact["source"]): string =>
      facts
        .filter((fact, index) => fact.source === source && indexOf(index, facts.length, turns) === turn)
        .map(({ sentence }) => sentence)
        .join(" ")
    const planned = Array.from({ length: reads }, (_, read) =>
      callsTool("read_file", { path: `part-${round + read}.txt` }),
    )
    round += reads
    await run(`Step ${turn}: read the next part and go on. ${stated("user")}`.trim(), [
      ...planned,
      says(`${REPLY}${stated("reply")}`),
    ])
  }
  const measured = { ...figures }
  const userFacts = facts.filter(({ source }) => source === "user")
  const userFactsVisible = userFacts.filter(({ sentence }) => last.includes(sentence)).length
  const bytes = databaseBytes(assembled.home.path)
  return {
    ...measured,
    databaseBytes: bytes,
    userFactsVisible,
    userFacts: userFacts.length,
    factsFound: await countFound(facts, { run, lastRequest: () => last }),
  }
}

async function countFound(
  facts: readonly Fact[],
  {
    run,
    lastRequest,
  }: {
    readonly run: (text: string, planned: readonly ReplyTurn[]) => Promise<void>
    readonly lastRequest: () => string
  },
): Promise<number> {
  let found = 0
  for (const { answer, question } of facts) {
    await run("Look that up.", [
      callsTool("session_search", { query: question, ...namedSession(lastRequest()) }),
      says("I see."),
    ])
    if (lastResult(lastRequest()).includes(answer)) found += 1
  }
  return found
}

const REPLY = "Read. Everything in it is as expected, so the next part can follow. ".repeat(4)
// The reviews of memory and skills would take the replies that are meant for the conversation.
const QUIET =
  "auxiliary:\n  title_generation:\n    provider: none\nmemory:\n  nudge_interval: 0\nskills:\n  creation_nudge_interval: 0\n"
const WORDS =
  "amber basin cedar delta ember fjord grove harbor island jungle kernel lagoon meadow nebula oasis prairie quarry ridge summit tundra".split(
    " ",
  )
const SOURCES = ["user", "file", "reply"] as const

function createFact(index: number): Fact {
  const name = `${WORDS[index % WORDS.length]}-${index}`
  return {
    sentence: `Service ${name} must use port ${4000 + index * 7}.`,
    answer: `${name} must use port ${4000 + index * 7}.`,
    question: `which port does the ${name} service use?`,
    source: SOURCES[index % SOURCES.length] ?? "user",
  }
}

/** The position of a fact among as many turns or files. */
function indexOf(fact: number, facts: number, positions: number): number {
  return Math.floor((fact * positions) / facts)
}

function createFiles({ rounds, roundChars }: LongConversationOptions, facts: readonly Fact[]): Record<string, string> {
  const random = seededRandom(20_261_115)
  const word = (): string => WORDS[Math.floor(random() * WORDS.length)] ?? ""
  return Object.fromEntries(
    Array.from({ length: rounds }, (_, round) => {
      const stated = facts.filter(
        ({ source }, index) => source === "file" && indexOf(index, facts.length, rounds) === round,
      )
      const lines = stated.map(({ sentence }) => sentence)
      // The result adds a number to each line, and the request the call around it.
      for (let chars = CALL_CHARS; chars < roundChars; chars += (lines.at(-1)?.length ?? 0) + LINE_CHARS) {
        lines.push(`${round}: ${Array.from({ length: 8 }, word).join(" ")} ${Math.floor(random() * 1e6)}`)
      }
      return [`part-${round}.txt`, lines.join("\n")]
    }),
  )
}

const CALL_CHARS = 400
const LINE_CHARS = 6

function isMain({ body }: RecordedRequest): boolean {
  return typeof body === "object" && body !== null && "tools" in body
}

/** The session that the note about removed rounds names. */
function namedSession(request: string): { readonly session_id?: string } {
  const id = /session_search with session_id \\"([^"\\]+)\\"/u.exec(request)?.[1]
  return id === undefined ? {} : { session_id: id }
}

/** The last message of the request: the result of the search. */
function lastResult(request: string): string {
  const last = recordsIn(JSON.parse(request), "messages").at(-1)
  return last?.["role"] === "tool" ? JSON.stringify(last["content"]) : ""
}

function sharedStart(before: string, after: string): number {
  const end = Math.min(before.length, after.length)
  let index = 0
  while (index < end && before[index] === after[index]) index += 1
  return index
}

/** After a checkpoint, as when all processes have ended. */
function databaseBytes(home: string): number {
  const path = join(home, "state.db")
  const db = new DatabaseSync(path, { timeout: 5000 })
  try {
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    return statSync(path).size
  } finally {
    db.close()
  }
}
