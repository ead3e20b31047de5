import { join } from "node:path"
import { describe, expect, test } from "vitest"
import {
  NOW,
  recordingLogger,
  session,
  sessionId,
  temporaryStore,
  testClock,
} from "../../../test/fixtures/state/temporary-store.ts"
import type { TemporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import { fc } from "../../../test/support/property.ts"
import type { IndexEntry } from "../../knowledge/semantic-search/entry-chunks.ts"
import { createLexicon } from "../../knowledge/semantic-search/lexicon.ts"
import { createSemanticSearch } from "../../knowledge/semantic-search/semantic-search.ts"
import type { SemanticSearch } from "../../knowledge/semantic-search/semantic-search.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import { openSemanticIndex } from "../../state/sqlite/semantic-index/semantic-index.ts"
import { StoreError } from "../../state/store.ts"
import type { SessionsPort } from "../../toolkit/ports/sessions.ts"
import { sessionSearch } from "./session-search.ts"

const lexicon = createLexicon()

interface SearchBench extends AsyncDisposable {
  readonly state: TemporaryStore
  readonly recall: SemanticSearch
  readonly notes: IndexEntry[]
  running: SessionId
  call(args?: Readonly<Record<string, unknown>>, port?: Partial<SessionsPort>): Promise<Record<string, unknown>>
  /** A session with what was said in turns, a second apart. */
  tell(
    id: string,
    texts: readonly (string | Message)[],
    more?: Parameters<typeof session>[1],
  ): Promise<readonly number[]>
}

async function searchBench(): Promise<SearchBench> {
  const tools = await toolBench()
  const state = await temporaryStore()
  const path = join(state.directory, "memory_index.db")
  const index = await openSemanticIndex({ path, clock: testClock(), log: recordingLogger() })
  const recall = createSemanticSearch({ index, clock: state.clock })
  const notes: IndexEntry[] = []
  const bench: SearchBench = {
    state,
    recall,
    notes,
    running: sessionId("running"),
    call: async (args = {}, port = {}) => {
      const sessions: SessionsPort = {
        sessionId: () => bench.running,
        store: () => Promise.resolve(state.store),
        lexicon: () => Promise.resolve(lexicon),
        semanticSearch: () => Promise.resolve(recall),
        notes: () => Promise.resolve(notes),
        ...port,
      }
      return Object(await tools.call(sessionSearch, args, { ports: { sessions } })) as Record<string, unknown>
    },
    tell: async (id, texts, more = {}) => {
      await state.store.createSession(session(id, { startedAt: state.clock.seconds, model: "m", ...more }))
      const messages = texts.map((text, at): Message => {
        state.clock.seconds += 1
        if (typeof text !== "string") return { ...text, timestamp: state.clock.seconds } as Message
        return { role: at % 2 === 0 ? "user" : "assistant", content: text, timestamp: state.clock.seconds }
      })
      return await state.store.append(sessionId(id), messages)
    },
    [Symbol.asyncDispose]: async () => {
      await index.close()
      await state[Symbol.asyncDispose]()
      await tools[Symbol.asyncDispose]()
    },
  }
  return bench
}

function rows(
  answer: Record<string, unknown>,
  key: "results" | "messages" | "parts" = "results",
): Record<string, unknown>[] {
  return answer[key] as Record<string, unknown>[]
}

function ids(answer: Record<string, unknown>): unknown[] {
  return rows(answer).map((hit) => hit["session_id"])
}

const at = (seconds: number): string => `${new Date((NOW + seconds) * 1000).toISOString().slice(0, 19)}Z`

test("its definition has less than 1,100 bytes", () => {
  const { name, description, parameters } = sessionSearch
  expect(
    Buffer.byteLength(JSON.stringify({ type: "function", function: { name, description, parameters } })),
  ).toBeLessThan(1100)
})

describe("browse", () => {
  test("shows the other sessions, most recently used first, without those of sub-agents", async () => {
    await using bench = await searchBench()
    await bench.tell("one", ["hello there", "hi"])
    await bench.tell("two", ["second talk"], { source: "telegram" })
    await bench.tell("helper", ["sub task"], { source: "subagent" })
    await bench.tell("running", ["now"])
    expect(await bench.call()).toEqual({
      success: true,
      mode: "browse",
      results: [
        {
          session_id: "two",
          title: null,
          source: "telegram",
          started_at: at(2),
          last_active: at(3),
          message_count: 1,
          preview: "second talk",
        },
        {
          session_id: "one",
          title: null,
          source: "cli",
          started_at: at(0),
          last_active: at(2),
          message_count: 2,
          preview: "hello there",
        },
      ],
      count: 2,
    })
    expect(ids(await bench.call({ source: "telegram" }))).toEqual(["two"])
    expect(ids(await bench.call({ limit: 1, offset: 1 }))).toEqual(["one"])
  })

  test("filters by date; reports when nothing was found", async () => {
    await using bench = await searchBench()
    await bench.tell("old", ["a"])
    bench.state.clock.seconds += 10 * 86_400
    await bench.tell("new", ["b"])
    const day = new Date((NOW + 5 * 86_400) * 1000).toISOString().slice(0, 10)
    expect(ids(await bench.call({ after: day }))).toEqual(["new"])
    expect(ids(await bench.call({ before: day }))).toEqual(["old"])
    expect(await bench.call({ after: "2090-01-01" })).toEqual({
      success: true,
      mode: "browse",
      results: [],
      count: 0,
      message: "There are no other sessions.",
    })
  })
})

describe("searching all sessions", () => {
  test("a hit includes its context", async () => {
    await using bench = await searchBench()
    const talk = Array.from({ length: 20 }, (_, number) => (number === 10 ? "the zebrafish is here" : `turn ${number}`))
    await bench.tell("talk", talk)
    const answer = await bench.call({ query: "zebrafish", window: 1 })
    const line = (id: number): object => ({
      id,
      role: id % 2 === 1 ? "user" : "assistant",
      when: at(id),
      content: talk[id - 1],
    })
    expect(answer).toEqual({
      success: true,
      mode: "discover",
      query: "zebrafish",
      results: [
        {
          session_id: "talk",
          when: at(11),
          source: "cli",
          model: "m",
          title: null,
          matched_by: "words",
          matched_role: "user",
          match_message_id: 11,
          snippet: "the >>>zebrafish<<< is here",
          bookend_start: [1, 2, 3].map(line),
          messages: [10, 11, 12].map(line),
          bookend_end: [18, 19, 20].map(line),
          messages_before: 1,
          messages_after: 1,
        },
      ],
      count: 1,
    })
  })

  test("sub-agents and the current turn are left out; compressions and the own conversation are searched", async () => {
    await using bench = await searchBench()
    await bench.tell("chain", ["zebrafish one"])
    await bench.state.store.rotate(
      sessionId("chain"),
      session("chain2", { parent: sessionId("chain"), startedAt: bench.state.clock.seconds }),
    )
    await bench.state.store.append(sessionId("chain2"), [{ role: "user", content: "zebrafish two" }])
    await bench.tell("helper", ["zebrafish helper"], { source: "subagent" })
    await bench.tell("running", ["zebrafish own", "noted"])
    await bench.state.store.rotate(
      sessionId("running"),
      session("running2", { parent: sessionId("running"), startedAt: bench.state.clock.seconds }),
      [{ role: "user", content: "zebrafish own" }],
    )
    await bench.state.store.append(sessionId("running2"), [
      { role: "user", content: "what about the zebrafish" },
      { role: "assistant", content: "let me search zebrafish" },
    ])
    bench.running = sessionId("running2")
    const answer = await bench.call({ query: "zebrafish", limit: 10 })
    expect(new Map(rows(answer).map((hit) => [hit["session_id"], hit["match_message_id"]]))).toEqual(
      new Map([
        ["chain", 1],
        ["chain2", 2],
        ["running", 4],
      ]),
    )
  })

  test("a question that was asked before is no result, nor are calls and results of the search", async () => {
    await using bench = await searchBench()
    const question = "When did Caroline go to the support group?"
    const call: Message = {
      role: "assistant",
      content: null,
      tool_calls: [
        {
          id: "c",
          type: "function",
          function: { name: "session_search", arguments: JSON.stringify({ query: question }) },
        },
      ],
    }
    const result: Message = {
      role: "tool",
      tool_call_id: "c",
      tool_name: "session_search",
      content: JSON.stringify({ query: question, results: ["Caroline support group"] }),
    }
    await bench.tell("talk", ["Caroline here. I went to a support group yesterday.", "How was it?"])
    for (let time = 0; time < 20; time += 1) {
      await bench.tell(`asked${time}`, [
        { role: "user", content: time % 2 === 0 ? question : "So when did Caroline join that support group of hers?" },
        call,
        result,
        { role: "assistant", content: "I do not know." },
      ])
    }
    await bench.tell("running", [question])
    await bench.recall.syncSessions(bench.state.store, { budgetMs: 1000, signal: new AbortController().signal })
    const found = rows(await bench.call({ query: question, limit: 10 }))
    expect(found[0]).toMatchObject({ session_id: "talk", match_message_id: 1 })
    expect(found.filter((hit) => String(hit["snippet"]).replaceAll(/[<>]/g, "") === question)).toEqual([])
    expect(rows(await bench.call({ query: "Caroline support group", limit: 10 }))[0]).toMatchObject({
      session_id: "talk",
    })
  })

  test("any word is enough, several messages of a session are found, and irregular forms too", async () => {
    await using bench = await searchBench()
    await bench.tell("talk", [
      "Melanie painted a sunrise over the lake",
      "beautiful",
      "hello again",
      "nice weather",
      "what are you up to",
      "not much",
      "just tired",
      "me too",
      "I bought the frame for the painting",
      "great",
    ])
    const found = rows(await bench.call({ query: "What did Melanie buy for her paintings?", limit: 10 }))
    expect(new Set(found.map((hit) => hit["match_message_id"]))).toEqual(new Set([1, 9]))
  })

  test("syntax in the query is matched exactly", async () => {
    await using bench = await searchBench()
    await bench.tell("talk", ["the red zebrafish", "ok", "red fish and zebrafish"])
    const matches = async (query: string): Promise<unknown[]> =>
      rows(await bench.call({ query, limit: 10 })).map((hit) => hit["match_message_id"])
    expect(await matches('"red zebrafish"')).toEqual([1])
    expect(await matches("zebrafish NOT fish")).toEqual([1])
    expect(new Set(await matches("zebra*"))).toEqual(new Set([1, 3]))
    expect(await matches("zebrafish AND fish")).toEqual([3])
  })

  test("an answer stays below 26,000 characters, and repeats no message", async () => {
    await using bench = await searchBench()
    await bench.tell(
      "long",
      Array.from({ length: 200 }, (_, number) => `zebrafish ${number} ${"and more words ".repeat(80)}`),
    )
    const answer = await bench.call({ query: "zebrafish", limit: 10, window: 20 })
    expect(JSON.stringify(answer).length).toBeLessThan(26_000)
    expect(answer["count"]).toBe(10)
    const shown = rows(answer).flatMap((hit) => rows(hit, "messages").map(({ id }) => id))
    expect([shown.length > 10, new Set(shown).size]).toEqual([true, shown.length])
  })

  test("a search does not wait for the index, and starts it in the background", async () => {
    await using bench = await searchBench()
    await bench.tell("talk", ["the zebrafish is here", "ok"])
    let started = 0
    const answer = await bench.call({ query: "zebrafish" }, { indexInBackground: () => (started += 1) })
    expect([ids(answer), started, await bench.recall.search("zebrafish", { limit: 1 })]).toEqual([["talk"], 1, []])
  })

  test("semantic search finds what shares no word", async () => {
    await using bench = await searchBench()
    await bench.tell("car", ["Olek drives an old Volvo.", "noted"])
    await bench.tell("food", ["Marta likes soup.", "fine"])
    await bench.tell("running", ["what vehicle does Olek own"])
    await bench.recall.syncSessions(bench.state.store, { budgetMs: 1000, signal: new AbortController().signal })
    const answer = await bench.call({ query: "which vehicle does he have" })
    expect(
      rows(answer).map((hit) => [hit["session_id"], hit["matched_by"], hit["match_message_id"], hit["snippet"]]),
    ).toEqual([["car", "meaning", 1, "Olek drives an old Volvo."]])
  })

  test("full-text results come before semantic ones, and pages cover both", async () => {
    await using bench = await searchBench()
    await bench.tell("exact", ["the physician called"])
    await bench.tell("other", ["the doctor called"])
    expect(rows(await bench.call({ query: "physician" })).map((hit) => [hit["session_id"], hit["matched_by"]])).toEqual(
      [
        ["exact", "words"],
        ["other", "meaning"],
      ],
    )
    expect(ids(await bench.call({ query: "physician", limit: 1 }))).toEqual(["exact"])
    expect(ids(await bench.call({ query: "physician", limit: 1, offset: 1 }))).toEqual(["other"])
    expect(ids(await bench.call({ query: "physician NOT cat" }))).toEqual(["exact"])
  })

  test("role, source and dates also filter semantic results", async () => {
    await using bench = await searchBench()
    await bench.tell("asked", ["the doctor called", "the doctor was told"])
    const none = { query: "physician", role_filter: "tool" }
    expect(ids(await bench.call(none))).toEqual([])
    expect(
      rows(await bench.call({ query: "physician", role_filter: "assistant" })).map((hit) => hit["match_message_id"]),
    ).toEqual([2])
    expect(ids(await bench.call({ query: "physician", source: "telegram" }))).toEqual([])
    expect(ids(await bench.call({ query: "physician", source: "cli" }))).toEqual(["asked", "asked"])
    expect(ids(await bench.call({ query: "physician", before: "2020-01-01" }))).toEqual([])
    expect(ids(await bench.call({ query: "physician", after: "2090-01-01" }))).toEqual([])
  })

  test("deleted messages are not found and are removed from the index", async () => {
    await using bench = await searchBench()
    await bench.tell("gone", ["the doctor called"])
    await bench.call({ query: "physician" })
    await bench.state.store.deleteSession(sessionId("gone"))
    expect(ids(await bench.call({ query: "physician" }))).toEqual([])
    expect(await bench.recall.search("physician", { limit: 1 })).toEqual([])
  })

  test("matching memory and learnings are returned too", async () => {
    await using bench = await searchBench()
    bench.notes.push(
      { kind: "memory", ref: "m", text: "The doctor is closed on Fridays.", createdAt: NOW },
      { kind: "learning", ref: "l", text: "Use ripgrep.", createdAt: NOW },
    )
    expect(await bench.call({ query: "physician" })).toEqual({
      success: true,
      mode: "discover",
      query: "physician",
      results: [],
      count: 0,
      notes: [{ kind: "memory", text: "The doctor is closed on Fridays." }],
      message: "Nothing was found; try other words.",
    })
  })

  test("with a broken index only full-text search is used", async () => {
    await using bench = await searchBench()
    await bench.tell("exact", ["the physician called"])
    const broken = await bench.call(
      { query: "physician" },
      { semanticSearch: () => Promise.reject(new Error("it is damaged")) },
    )
    expect([ids(broken), broken["message"]]).toEqual([["exact"], "Only full-text search was possible: it is damaged"])
  })

  test.each(["***", "AND", '"', "it's (", "100%", "-foo", "NOT", "大"])("%j is accepted", async (query) => {
    await using bench = await searchBench()
    await bench.tell("other", ["hello"])
    expect(await bench.call({ query })).toMatchObject({ success: true, count: 0 })
  })
})

describe("reading", () => {
  test("a session returns its beginning and its end", async () => {
    await using bench = await searchBench()
    await bench.tell(
      "long",
      Array.from({ length: 40 }, (_, number) => `turn ${number}`),
    )
    const answer = await bench.call({ session_id: "long" })
    expect(rows(answer, "messages").map(({ id }) => id)).toEqual([
      ...Array.from({ length: 20 }, (_, number) => number + 1),
      ...Array.from({ length: 10 }, (_, number) => number + 31),
    ])
    expect({ ...answer, messages: [] }).toEqual({
      success: true,
      mode: "read",
      session_id: "long",
      title: null,
      messages: [],
      count: 30,
      truncated: true,
      message: "10 messages in between are omitted; continue with around_message_id 21, or search them with query.",
    })
    expect(await bench.call({ session_id: "long", role_filter: "user" })).toMatchObject({ count: 20, truncated: false })
  })

  test("a session is identified by id, id prefix or title", async () => {
    await using bench = await searchBench()
    await bench.tell("20270115_080000_abcdef", ["hello"])
    await bench.state.store.setTitle(sessionId("20270115_080000_abcdef"), "Holiday plans")
    for (const session_id of ["20270115_080000_abcdef", "20270115", "Holiday plans"]) {
      expect(await bench.call({ session_id })).toMatchObject({ session_id: "20270115_080000_abcdef" })
    }
  })

  test("the messages around one, long ones cut", async () => {
    await using bench = await searchBench()
    await bench.tell("long", ["a", "b".repeat(9000), "c", "d"])
    expect(await bench.call({ session_id: "long", around_message_id: 2, window: 1 })).toEqual({
      success: true,
      mode: "scroll",
      session_id: "long",
      messages: [
        { id: 1, role: "user", when: at(1), content: "a" },
        { id: 2, role: "assistant", when: at(2), content: `${"b".repeat(3999)}…`, chars: 9000 },
        { id: 3, role: "user", when: at(3), content: "c" },
      ],
      count: 3,
      messages_before: 1,
      messages_after: 1,
      message: "Messages with chars are cut; around_message_id with window 0 returns one of them word for word.",
    })
  })

  test("the own conversation can be read, messages of others only with their session id", async () => {
    await using bench = await searchBench()
    await bench.tell("running", ["first", "second"])
    await bench.state.store.rotate(
      sessionId("running"),
      session("running2", { parent: sessionId("running"), startedAt: bench.state.clock.seconds }),
    )
    await bench.tell("other", ["stranger"])
    bench.running = sessionId("running2")
    expect(await bench.call({ session_id: "running2", around_message_id: 1 })).toMatchObject({
      session_id: "running",
      count: 2,
    })
    expect(await bench.call({ session_id: "running", around_message_id: 3 })).toEqual({
      success: false,
      error: "message 3 is in session other; call again with that session_id",
    })
  })

  test("one message word for word: text, arguments and reasoning", async () => {
    await using bench = await searchBench()
    const call = {
      id: "c1",
      type: "function" as const,
      function: { name: "write_file", arguments: '{"path":"a\\n\\u0000"}' },
    }
    await bench.tell("s", [
      { role: "assistant", content: "line\r\n\ttab 😀", tool_calls: [call], reasoning_content: "because" },
      {
        role: "user",
        content: [
          { type: "text", text: " x " },
          { type: "image_url", image_url: { url: `data:${"A".repeat(900)}` } },
        ],
      },
    ])
    expect(await bench.call({ session_id: "s", around_message_id: 1, window: 0 })).toEqual({
      success: true,
      mode: "message",
      session_id: "s",
      message_id: 1,
      role: "assistant",
      when: at(1),
      parts: [
        { part: "content", text: "line\r\n\ttab 😀" },
        { part: "arguments of call 1, write_file", text: '{"path":"a\\n\\u0000"}' },
        { part: "reasoning", text: "because" },
      ],
      offset: 0,
      total_chars: 39,
    })
    expect(rows(await bench.call({ around_message_id: 2, window: 0 }), "parts")).toEqual([
      { part: "content part 1", text: " x " },
      { part: "content part 2, image", text: "[image data of 905 characters]" },
    ])
  })

  test("the pages of any message together are the message", async () => {
    await using bench = await searchBench()
    const piece = fc.constantFrom("a", "\n", '"', "\\", "😀", "部", "\u0000", "e\u0301", " ")
    let number = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 1500 }),
        async (pieces, times) => {
          const content = pieces.join("").repeat(times)
          const id = `s${(number += 1)}`
          const [messageId] = await bench.tell(id, [content])
          let text = ""
          for (let offset: unknown = 0; offset !== undefined;) {
            const answer = await bench.call({ session_id: id, around_message_id: messageId, window: 0, offset })
            for (const part of rows(answer, "parts")) text += String(part["text"])
            offset = answer["next_offset"]
          }
          expect(text).toBe(content)
        },
      ),
      { numRuns: 40 },
    )
  })
})

describe("searching inside a session", () => {
  test("forty facts that a compression removed are found and returned word for word", async () => {
    await using bench = await searchBench()
    const facts = Array.from(
      { length: 40 },
      (_, number) => `The vault of department ${NAMES[number]} opens with ${number * 7919}.`,
    )
    const turns = Array.from({ length: 400 }, (_, number) =>
      number % 10 === 4
        ? `Aside: ${facts[(number - 4) / 10]} Go on.`
        : `Step ${number}: the build went through without trouble.`,
    )
    await bench.tell("running", turns)
    await bench.state.store.rotate(
      sessionId("running"),
      session("running2", { parent: sessionId("running"), startedAt: bench.state.clock.seconds }),
      [{ role: "user", content: "Earlier work was left out.", synthetic: "elision" }],
    )
    bench.running = sessionId("running2")
    for (const [number, fact] of facts.entries()) {
      const answer = await bench.call({
        session_id: "running2",
        query: `which code unlocks the safe of ${NAMES[number]}`,
      })
      const [hit] = rows(answer)
      const whole = await bench.call({
        session_id: "running2",
        around_message_id: hit?.["match_message_id"],
        window: 0,
      })
      expect(rows(whole, "parts")).toEqual([{ part: "content", text: `Aside: ${fact} Go on.` }])
    }
  })

  test("tool calls and results are searched, own calls, notes and the running turn are not", async () => {
    await using bench = await searchBench()
    const call = (name: string, args: object): Message => ({
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: { name, arguments: JSON.stringify(args) } }],
    })
    const result = (tool_name: string, content: string): Message => ({
      role: "tool",
      tool_call_id: "c",
      tool_name,
      content,
    })
    await bench.tell("running", [
      { role: "user", content: "begin" },
      call("write_file", { path: "zebrafish.txt" }),
      result("write_file", "zebrafish written"),
      call("session_search", { query: "zebrafish" }),
      result("session_search", "zebrafish found"),
      { role: "user", content: "note about zebrafish", synthetic: "elision" },
      { role: "user", content: "where is the zebrafish?" },
      { role: "assistant", content: "looking for the zebrafish" },
    ])
    const answer = await bench.call({ session_id: "running", query: "zebrafish", sort: "oldest" })
    expect(answer).toEqual({
      success: true,
      mode: "search",
      query: "zebrafish",
      session_id: "running",
      results: [
        {
          session_id: "running",
          match_message_id: 2,
          matched_role: "assistant",
          when: at(2),
          snippet: "\nwrite_file path: zebrafish.txt",
          messages: [
            { id: 1, role: "user", when: at(1), content: "begin" },
            { id: 2, role: "assistant", when: at(2), content: "", tool_calls: ['write_file {"path":"zebrafish.txt"}'] },
            { id: 6, role: "user", when: at(6), content: "note about zebrafish" },
            { id: 7, role: "user", when: at(7), content: "where is the zebrafish?" },
          ],
          messages_before: 1,
          messages_after: 5,
        },
        {
          session_id: "running",
          match_message_id: 3,
          matched_role: "tool",
          when: at(3),
          tool_name: "write_file",
          snippet: "zebrafish written",
          messages: [
            { id: 3, role: "tool", when: at(3), tool_name: "write_file", content: "zebrafish written" },
            { id: 8, role: "assistant", when: at(8), content: "looking for the zebrafish" },
          ],
          messages_before: 2,
          messages_after: 5,
        },
      ],
      count: 2,
      sessions_searched: 1,
      message: "around_message_id with window 0 returns a message word for word.",
    })
    expect(rows(await bench.call({ session_id: "running", query: "zebrafish", role_filter: "tool" }))).toHaveLength(1)
  })

  test("the first word of a line in a JSON result is found, and shown without escapes", async () => {
    await using bench = await searchBench()
    const content = `${JSON.stringify({ output: 'one\nzebrafish "swims"', lines: [{ at: 7 }] })}\n\n[a note]`
    await bench.tell("running", [
      { role: "user", content: "begin" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "terminal", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", tool_name: "terminal", content },
      { role: "user", content: "where?" },
    ])
    const found = rows(await bench.call({ session_id: "running", query: "zebrafish" }))
    expect(found).toMatchObject([{ snippet: 'output: one\nzebrafish "swims"\nlines: at: 7\n\n[a note]' }])
  })

  test("messages that a compression copied are found once; more pages are announced", async () => {
    await using bench = await searchBench()
    await bench.tell("running", ["zebrafish one", "zebrafish two", "zebrafish three"])
    await bench.state.store.rotate(
      sessionId("running"),
      session("running2", { parent: sessionId("running"), startedAt: bench.state.clock.seconds }),
      [
        { role: "user", content: "zebrafish three" },
        { role: "user", content: "the question" },
      ],
    )
    bench.running = sessionId("running2")
    const first = await bench.call({ session_id: "running", query: "zebrafish", limit: 2, sort: "newest" })
    expect([rows(first).map((hit) => hit["match_message_id"]), first["message"]]).toEqual([
      [3, 2],
      "1 more: use offset 2. around_message_id with window 0 returns a message word for word.",
    ])
    const next = await bench.call({ session_id: "running", query: "zebrafish", limit: 2, offset: 2, sort: "newest" })
    expect(rows(next).map((hit) => hit["match_message_id"])).toEqual([1])
  })

  test("parts of words are found", async () => {
    await using bench = await searchBench()
    const token = "9f".repeat(40)
    await bench.tell("s", [`the checksum is ${token}!`, "fine", "another checksum"])
    expect(rows(await bench.call({ session_id: "s", query: token })).map((hit) => hit["match_message_id"])).toEqual([1])
  })

  test("reports when nothing was found", async () => {
    await using bench = await searchBench()
    await bench.tell("s", ["hello"])
    expect(await bench.call({ session_id: "s", query: "zebrafish" })).toMatchObject({
      count: 0,
      message: "Nothing was found; try other words, or leave query out to read the session.",
    })
  })
})

describe("invalid requests", () => {
  test.each([
    [
      { session_id: "nope" },
      "there is no session nope; call session_search without arguments for recent ones, or with query",
    ],
    [{ around_message_id: 99 }, "there is no message 99; use an id from a result of session_search"],
    [
      { session_id: "s", around_message_id: 1, window: 0, offset: 9 },
      "offset 9 is past the end of message 1, which has 5 characters",
    ],
    [
      { query: "x", after: "yesterday" },
      'after is not a date: "yesterday"; write it as 2026-03-31 or 2026-03-31T14:00',
    ],
    [
      { query: "x", before: "2026-02-31" },
      'before is not a date: "2026-02-31"; write it as 2026-03-31 or 2026-03-31T14:00',
    ],
    [
      { query: "x", role_filter: "user, robot" },
      'role_filter contains the unknown role "robot": use a comma-separated list of user, assistant, tool',
    ],
  ])("%j", async (args, error) => {
    await using bench = await searchBench()
    await bench.tell("s", ["hello"])
    expect(await bench.call(args)).toEqual({ success: false, error })
  })

  test("numbers out of range are clamped", async () => {
    await using bench = await searchBench()
    await bench.tell(
      "s",
      Array.from({ length: 60 }, (_, number) => `zebrafish ${number}`),
    )
    const answer = await bench.call({ session_id: "s", around_message_id: 30, window: 999 })
    expect(answer).toMatchObject({ messages_before: 20, messages_after: 20 })
    expect(await bench.call({ query: "zebrafish", limit: -5, offset: -1 })).toMatchObject({ count: 1 })
  })

  test("a store that cannot be used returns the reason", async () => {
    await using bench = await searchBench()
    const store = (): Promise<never> => Promise.reject(new StoreError("unavailable", "There is no session storage."))
    expect(await bench.call({}, { store })).toEqual({ success: false, error: "There is no session storage." })
  })

  test("another profile is selected by name, and none of its sessions is excluded", async () => {
    await using bench = await searchBench()
    await bench.tell("running", ["zebrafish"])
    const asked: (string | undefined)[] = []
    const store: SessionsPort["store"] = (profile) => {
      asked.push(profile)
      return Promise.resolve(bench.state.store)
    }
    expect(ids(await bench.call({ query: "zebrafish", profile: "work" }, { store }))).toEqual(["running"])
    expect(ids(await bench.call({ query: "zebrafish", profile: " " }, { store }))).toEqual([])
    expect(asked).toEqual(["work", undefined])
  })

  test("without the port it returns an error", async () => {
    await using tools = await toolBench()
    expect(await tools.call(sessionSearch, {})).toEqual({
      success: false,
      error: "past sessions are not available here",
    })
  })
})

const NAMES =
  "Abelo Brint Corva Dusan Elmet Foxly Gravo Hulin Irvan Jotun Kelso Lumar Morva Nisto Orlin Pevro Quint Rasmo Silva Tevin Ulmar Vosto Wexin Xarlo Yulin Zemko Ardin Bolma Cirro Dalmo Estin Fargo Gosta Harlo Inska Jarvo Kusto Lorin Mesko Norva".split(
    " ",
  )

test("an exact search does not find what is removed from its results", async () => {
  await using bench = await searchBench()
  const token = `ghp_${"Q7abcdefgh".repeat(3)}456789`
  await bench.tell("written", [`My token is ${token}`])
  const call = { id: "1", type: "function" as const, function: { name: "terminal", arguments: `{"x":"${token}"}` } }
  await bench.tell("called", [{ role: "assistant", content: "I deploy.", tool_calls: [call] }])
  const count = async (query: string, more: Readonly<Record<string, unknown>> = {}): Promise<unknown> =>
    (await bench.call({ query, ...more }))["count"]
  expect([await count('"my token"'), await count("token AND ghp*"), await count("deploy*")]).toEqual([1, 1, 1])
  for (const [right, wrong] of [
    ["ghp_Q7abc*", "ghp_Q7abd*"],
    ["Q7abc*", "Q7abd*"],
    ["token AND Q7abc*", "token AND Q7abd*"],
    ["token NOT Q7abc*", "token NOT Q7abd*"],
    ["deploy NOT Q7abc*", "deploy NOT Q7abd*"],
    ['"token is ghp Q7abc" OR Q7abc*', '"token is ghp Q7abd" OR Q7abd*'],
  ] as const)
    expect([right, await count(right)]).toEqual([right, await count(wrong)])
  for (const session_id of ["written", "called"])
    expect(await count("Q7abc", { session_id })).toEqual(await count("Q7abd", { session_id }))
})

test("a secret that results mask is not found, neither by guesses nor by the messages around it", async () => {
  await using bench = await searchBench()
  const secret = "planted-secret-value"
  await bench.tell("s1", [
    `The deploy key of the harbour is ${secret}.`,
    {
      role: "assistant",
      content: "Noted the lighthouse.",
      tool_calls: [
        { id: "c1", type: "function", function: { name: "note", arguments: JSON.stringify({ key: secret }) } },
      ],
    },
    { role: "tool", content: `{"output": "kept ${secret}"}`, tool_call_id: "c1", tool_name: "note" },
    "PASSWORD=hunter2value for the harbour",
  ])
  await bench.recall.syncSessions(bench.state.store, { budgetMs: 1000, signal: new AbortController().signal })
  const texts = async (args: Readonly<Record<string, unknown>>): Promise<number> =>
    Number((await bench.call(args))["count"])
  const guesses = [
    "planted",
    "secret",
    "value planted",
    "planted-secret",
    "hunter2value",
    "hunter",
    '"planted"',
    "hunter*",
  ]
  for (const query of guesses) {
    expect([query, await texts({ query }), await texts({ query, session_id: "s1" })]).toEqual([query, 0, 0])
    expect([query, await texts({ query, role_filter: "user,assistant,tool" })]).toEqual([query, 0])
  }
  const others = JSON.stringify([
    await bench.call({ query: "harbour planted" }),
    await bench.call({ query: "lighthouse planted", session_id: "s1" }),
  ])
  expect(others).toContain("harbour")
  expect(others).toContain("lighthouse")
  expect(others).toContain(">>>harbour<<<")
  expect(others).not.toContain(">>>planted")
})

test("a page of a message that begins inside a secret does not show the rest of it", async () => {
  await using bench = await searchBench()
  const token = `ghp_${"Q7abcdefgh".repeat(3)}456789`
  const [id] = await bench.tell("written", [`${token} is my token`])
  for (const offset of [0, 3, 5, 8]) {
    const page = JSON.stringify(await bench.call({ around_message_id: id, window: 0, offset }))
    expect(page).toContain("6789 is my token")
    expect(page).not.toContain("abcdefgh")
  }
})
