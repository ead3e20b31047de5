import { expect, test } from "vitest"
import { NOW, session, sessionId, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { TemporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { MessageSearchOptions, StoredMessage } from "../store.ts"
import { fc } from "../../../test/support/property.ts"

const TEXTS = [
  "docker deployment of the app", // 1
  "an exact phrase here, hello world", // 2
  "foo and bar, TODO fix C and C# and F#", // 3
  "chat-send P2.2 read_file my-app.config.ts config.yaml 12", // 4
  "não-é 数据库.配置 it's 100% #123 /usr/local/bin user@example.com", // 5
  "大别山项目 在 桂林 部署 docker", // 6
  "python NOT java kubernetes now x", // 7
]

async function filled(t: TemporaryStore): Promise<void> {
  await t.store.createSession(session("a", { model: "m" }))
  await t.store.append(
    sessionId("a"),
    TEXTS.map((content, index) => ({ role: "user", content, timestamp: NOW + index })),
  )
}

async function found(t: TemporaryStore, query: string, options: MessageSearchOptions = {}): Promise<number[]> {
  return (await t.store.search(query, options)).map((hit) => hit.id)
}

test.each([
  ["docker deployment", [1]],
  ['"exact phrase"', [2]],
  ["hello AND", [2]],
  ["OR world", [2]],
  ["AND foo AND", [3]],
  ["AND", []],
  ["***", []],
  ["not now", [7]],
  ['hello "unmatched', []],
  ["C++", [3]],
  ["foo^2", []],
  ["{x}", [7]],
  ["(foo OR bar)", [3]],
  ["TODO: fix", [3]],
  ["chat-send", [4]],
  ["P2.2", [4]],
  ["read_file", [4]],
  ["my-app.config.ts", [4]],
  ['"a" "b-c" d.e', []],
  ["config.yaml:12", [4]],
  ["*foo", [3]],
  ["de**ploy", []],
  ["deploy*", [1]],
  ["não-é", [5]],
  ["数据库.配置", [5]],
  ["docker OR kubernetes", [1, 6, 7]],
  ["python NOT java", []],
  ["it's", [5]],
  ["-foo", [3]],
  ["100%", [5]],
  ["#123", [5]],
  ["hello - world", [2]],
  ["C# and F#", [3]],
  ["/usr/local/bin", [5]],
  ["user@example.com", [5]],
  ["a/b-c/d", []],
  ["x AND AND", [7]],
  ["docker AND OR deployment", [1]],
  ["deploy* it's", []],
  ["大别山项目", [6]],
  ["大别山", [6]],
  ["桂林", [6]],
  ["广西 OR 桂林 OR 漓江", [6]],
  ["docker 部署", [1, 6]],
  ["桂林 NOT docker", []],
  ["docker", [1, 6]],
  ["", []],
] as const)("%j finds %j", async (query, expected) => {
  await using t = await temporaryStore()
  await filled(t)
  expect((await found(t, query)).toSorted((a, b) => a - b)).toEqual([...expected])
  expect((await found(t, query, { sort: "newest" })).toSorted((a, b) => a - b)).toEqual([...expected])
})

test("a hit contains its session, snippet and neighbours", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a", { model: "m", source: "telegram" }))
  await t.store.append(sessionId("a"), [
    { role: "user", content: [{ type: "text", text: "before" }], timestamp: NOW + 1 },
    { role: "tool", content: "the needle", tool_call_id: "c", tool_name: "terminal", timestamp: NOW + 2 },
    { role: "assistant", content: "y".repeat(300), timestamp: NOW + 3 },
  ])
  expect(await t.store.search("needle")).toEqual([
    {
      id: 2,
      sessionId: "a",
      role: "tool",
      snippet: "the >>>needle<<< terminal ",
      timestamp: NOW + 2,
      toolName: "terminal",
      source: "telegram",
      model: "m",
      sessionStarted: NOW,
      context: [
        { role: "user", text: "before" },
        { role: "tool", text: "the needle" },
        { role: "assistant", text: "y".repeat(200) },
      ],
    },
  ])
  expect((await t.store.search("needle", { withContext: false }))[0]?.context).toEqual([])
})

test("tool names, tool calls and structured content are searchable", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const call = {
    id: "c",
    type: "function",
    function: { name: "web_search", arguments: '{"q":"长江三峡 weather"}' },
  } as const
  await t.store.append(sessionId("a"), [
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", content: "ok", tool_call_id: "c", tool_name: "web_search" },
    { role: "user", content: [{ type: "text", text: "picture of 漓江 and xylophone" }] },
  ])
  expect((await found(t, "web_search")).toSorted((a, b) => a - b)).toEqual([1, 2])
  expect(await found(t, "长江三峡")).toEqual([1])
  expect(await found(t, "长江")).toEqual([1])
  expect(await found(t, "漓江")).toEqual([3])
  expect(await found(t, "xylophone")).toEqual([3])
})

test("a LIKE snippet has 120 characters from 40 before the hit, and most tokens rank first", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const text = `${"前".repeat(100)}桂林${"后".repeat(100)}`
  await t.store.append(sessionId("a"), [
    { role: "user", content: "桂林 漓江", timestamp: NOW },
    { role: "user", content: text, timestamp: NOW + 1 },
    { role: "user", content: "100%桂", timestamp: NOW + 2 },
  ])
  const hits = await t.store.search("桂林 OR 漓江")
  expect(hits.map((hit) => [hit.id, hit.snippet])).toEqual([
    [1, "桂林 漓江"],
    [2, `${"前".repeat(40)}桂林${"后".repeat(78)}`],
  ])
  expect(await found(t, "桂林 OR 漓江", { sort: "newest" })).toEqual([2, 1])
})

test("filters by source, role and time, and paging", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.createSession(session("b", { source: "telegram" }))
  const message = (role: "user" | "assistant", at: number): StoredMessage => ({
    role,
    content: "needle",
    timestamp: at,
  })
  await t.store.append(sessionId("a"), [message("user", NOW), message("assistant", NOW + 1)])
  await t.store.append(sessionId("b"), [message("user", NOW + 2), message("assistant", NOW + 3)])
  const sort = "newest" as const
  expect(await found(t, "needle", { sort })).toEqual([4, 3, 2, 1])
  expect(await found(t, "needle", { sort: "oldest" })).toEqual([1, 2, 3, 4])
  expect(await found(t, "needle", { sort, limit: 2, offset: 1 })).toEqual([3, 2])
  expect(await found(t, "needle", { sort, limit: 0 })).toEqual([])
  expect(await found(t, "needle", { sort, sources: ["telegram"] })).toEqual([4, 3])
  expect(await found(t, "needle", { sort, excludeSources: ["telegram"] })).toEqual([2, 1])
  expect(await found(t, "needle", { sort, roles: ["user"] })).toEqual([3, 1])
  expect(await found(t, "needle", { sort, after: NOW + 1, before: NOW + 3 })).toEqual([3, 2])
  expect((await found(t, "needle", { roles: ["assistant"], sources: ["cli"] })).toSorted((a, b) => a - b)).toEqual([2])
})

test("sorting by time is exact even when ids and times disagree over many blocks", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  // A clock that runs forward, is set back by a day, and runs forward again: 3 × 700 messages over five id blocks.
  const times = [0, -86_400, 500].flatMap((shift) => Array.from({ length: 700 }, (_, index) => NOW + shift + index))
  await t.store.append(
    sessionId("a"),
    times.map((timestamp) => ({ role: "user", content: "common", timestamp })),
  )
  const expected = (direction: 1 | -1): number[] =>
    times
      .map((time, index) => ({ id: index + 1, time }))
      .toSorted((a, b) => direction * (a.time - b.time))
      .map((entry) => entry.time)
  const sorted = async (sort: "newest" | "oldest", offset: number): Promise<number[]> =>
    (await t.store.search("common", { sort, limit: 30, offset, withContext: false })).map((hit) => hit.timestamp)
  for (const offset of [0, 250, 1400]) {
    expect(await sorted("newest", offset)).toEqual(expected(-1).slice(offset, offset + 30))
    expect(await sorted("oldest", offset)).toEqual(expected(1).slice(offset, offset + 30))
  }
})

test("equal times are ordered by rank", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const contents = ["needle in a very long hay stack of other words", "needle", "needle in hay"]
  await t.store.append(
    sessionId("a"),
    contents.map((content) => ({ role: "user", content, timestamp: NOW })),
  )
  expect(await found(t, "needle", { sort: "newest" })).toEqual([2, 3, 1])
  expect((await t.store.search("needle")).map((hit) => hit.snippet.trim())).toEqual([
    ">>>needle<<<",
    ">>>needle<<< in hay",
    ">>>needle<<< in a very long hay stack of other words",
  ])
  expect(await found(t, "needle")).toEqual([2, 3, 1])
})

test("inactive messages are hidden from all three indexes", async () => {
  await using t = await temporaryStore()
  await filled(t)
  t.raw((db) => db.exec("UPDATE messages SET active = 0 WHERE id = 6"))
  for (const query of ["docker", "大别山项目", "桂林"]) {
    expect(await found(t, query)).not.toContain(6)
    expect(await found(t, query, { sort: "newest" })).not.toContain(6)
    expect(await found(t, query, { includeInactive: true })).toContain(6)
  }
})

test("what a compression copies is found once, and still after the original was deleted", async () => {
  await using t = await temporaryStore()
  const kept: StoredMessage = { role: "user", content: "the needle 大别山项目 in it" }
  await t.store.startSession(session("parent"), [{ role: "user", content: "removed needle" }, kept], "talk")
  await t.store.rotate(sessionId("parent"), session("child"), [{ role: "user", content: "a note, no needle" }, kept])
  await t.store.append(sessionId("child"), [{ role: "user", content: "a new needle" }])
  const found = async (query: string) => (await t.store.search(query)).map(({ sessionId: id }) => id).toSorted()
  expect([await found("needle"), await found("大别山项目")]).toEqual([["child", "parent", "parent"], ["parent"]])
  await t.store.deleteSession(sessionId("parent"))
  expect([await found("needle"), await found("大别山项目")]).toEqual([["child", "child", "child"], ["child"]])
})

test("no query makes the search fail", async () => {
  await using t = await temporaryStore()
  await filled(t)
  const pieces = fc.constantFrom(
    ...`"'*^:(){}+-.,_%#@/\\~<>|&; \u0000`.split(""),
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "docker",
    "é",
    "桂",
    "大别山",
    "\uD800",
    "🙂",
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(pieces, { maxLength: 12 }),
      fc.constantFrom("newest", "oldest", undefined),
      async (parts, sort) => {
        const hits = await t.store.search(parts.join(""), sort === undefined ? {} : { sort })
        expect(hits.length).toBeLessThanOrEqual(TEXTS.length)
      },
    ),
    { numRuns: 400 },
  )
})
