import { expect, test } from "vitest"

import { isRecord, parseJson } from "../../../src/base/json.ts"
import type { SessionId } from "../../../src/protocol/identifiers.ts"
import type { Message } from "../../../src/protocol/message.ts"
import type { RecordedRequest } from "../../support/model-server/recorded-request.ts"
import { recordsIn } from "../../support/model-server/request-parts.ts"
import { callsTool, repeat, says } from "../../support/model-server/turn.ts"
import type { Turn, TurnFunction } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { plantFacts } from "./planted-facts.ts"

const TURNS = 200
const FACTS = 40
const ODD_TURN = 100
const { signal } = new AbortController()

const MAX_PAGES = 100

/** A summary without any fact of the conversation. */
const EMPTY_SUMMARY = "## Active Task\nNone.\n\n## Goal\nTo go on."

const ODD_MESSAGE =
  "The odd one: tab\t, return\r\n, zero\u0000byte, bell\u0007, zero-width \u200b and \u2060, right-to-left \u202Eabc\u202C, " +
  "separators \u2028 \u2029, e\u0301 beside é, 👩‍👩‍👧‍👦 and 🏴‍☠️, a backslash \\ and \\n, quotes \"'`, </memory-context>, " +
  `$HOME $(id) %s {{x}}, trailing spaces   \n\n\n${"long line ".repeat(3000)}\nend\uFEFF`

test("40 facts of a 200-turn session can be found verbatim after a compression to 15 % of its size", async () => {
  const planted = plantFacts(20_261_115, { facts: FACTS, turns: TURNS })
  const queue: (Turn | TurnFunction)[] = []
  const script = repeat(async (request) => {
    const usage = { input: Math.ceil(request.rawBody.length / 4), output: 50 }
    if (!hasTools(request)) return says(EMPTY_SUMMARY, { usage })
    const next = queue.shift() ?? says("(no turn left)")
    return { ...(typeof next === "function" ? await next(request) : next), usage }
  })
  await using assembled = await assembleApp([script], {
    config:
      "  context_length: 32000\nauxiliary:\n  title_generation:\n    provider: none\nmemory:\n  nudge_interval: 0\n",
    workFiles: planted.files,
  })
  const session = await assembled.open()
  const chain = new Set<SessionId>([session.id])
  for (const [index, { userText, call, reply }] of planted.turns.entries()) {
    if (call !== undefined) queue.push(callsTool(call.name, call.input))
    queue.push(says(reply))
    const { end } = await runToEnd(session, index === ODD_TURN ? ODD_MESSAGE : userText)
    expect([end.outcome, end.result.error, queue.length]).toEqual(["completed", undefined, 0])
    chain.add(session.id)
  }
  const done = await session.compress({ focus: "something else", signal })
  if (!done.ok) throw new Error(done.error)
  expect(done.value.layersRun).toContain(5)
  const kept = charsOf(await conversations(assembled, [session.id]))
  const original = charsOf(await conversations(assembled, [...chain]))
  expect(kept / original).toBeLessThanOrEqual(0.15)

  const search = async (userText: string, ...calls: readonly TurnFunction[]): Promise<string> => {
    queue.push(...calls, says("I see."))
    await runToEnd(session, userText)
    return assembled.model.toolResults(assembled.model.requests.length - 1).at(-1)?.text ?? ""
  }
  const missed: string[] = []
  let onFirstPage = 0
  for (const { sentence, question, source } of planted.facts) {
    const page = async (offset: number): Promise<boolean> =>
      hitsIn(await search("Look that up.", (request) => searches(request, { query: question, offset }))).some(
        ({ snippet }) => snippet.includes(sentence),
      )
    if (await page(0)) onFirstPage += 1
    else if (!(await page(3)) && !(await page(6))) missed.push(`${source}: ${sentence}`)
  }
  expect(missed).toEqual([])
  // Most are on the first page, although every message is about similar things.
  expect(onFirstPage).toBeGreaterThanOrEqual(FACTS * 0.8)

  // The message with unusual characters, page by page; each page names the offset of the next.
  let whole = ""
  let next: unknown = 0
  await search("And the odd one?", (request) => searches(request, { query: "odd one tab zero-width separators" }))
  const [hit] = hitsIn(assembled.model.toolResults(assembled.model.requests.length - 1)[0]?.text ?? "")
  for (let pages = 0; typeof next === "number" && pages < MAX_PAGES; pages += 1) {
    const page = { around_message_id: hit?.match_message_id, window: 0, offset: next }
    const answer = parseJson(await search("Word for word.", (request) => searches(request, page)))
    whole += partsOf(answer)
    next = isRecord(answer) ? answer["next_offset"] : undefined
  }
  expect(whole).toBe(ODD_MESSAGE)
}, 120_000)

/** A search in the session that the elision note or the summary names. */
function searches(request: RecordedRequest, input: Readonly<Record<string, unknown>>): Turn {
  const context = messagesIn(request)
    .map(({ content }) => (typeof content === "string" ? content : ""))
    .join("\n")
  const named = /session_search with session_id "([^"]+)"/u.exec(context)?.[1]
  if (named === undefined) throw new Error("no message names a session to search")
  return callsTool("session_search", { session_id: named, ...input })
}

function hasTools({ body }: RecordedRequest): boolean {
  return isRecord(body) && Array.isArray(body["tools"]) && body["tools"].length > 0
}

function messagesIn({ body }: RecordedRequest): readonly Readonly<Record<string, unknown>>[] {
  return recordsIn(body, "messages")
}

function hitsIn(result: string): readonly { readonly snippet: string; readonly match_message_id: number }[] {
  return recordsIn(parseJson(result), "results").map(({ snippet, match_message_id: id }) => ({
    snippet: String(snippet),
    match_message_id: Number(id),
  }))
}

function partsOf(answer: unknown): string {
  return recordsIn(answer, "parts")
    .map(({ text }) => String(text))
    .join("")
}

async function conversations(assembled: AssembledApp, ids: readonly SessionId[]): Promise<readonly Message[]> {
  const store = await assembled.app.store()
  return (await Promise.all(ids.map((id) => store.conversation(id)))).flat()
}

/** Counts every message once, although a compression copies the kept ones. */
function charsOf(messages: readonly Message[]): number {
  const texts = messages.map((message) =>
    JSON.stringify([message.role, message.content, message.role === "assistant" ? (message.tool_calls ?? []) : []]),
  )
  return [...new Set(texts)].reduce((sum, text) => sum + text.length, 0)
}
