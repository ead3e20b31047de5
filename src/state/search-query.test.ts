import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, expect, test } from "vitest"
import { fallbackQuery, routeQuery, sanitizeQuery } from "./search-query.ts"

const SANITIZED: readonly (readonly [string, string])[] = [
  ["docker deployment", "docker deployment"],
  ['"exact phrase"', '"exact phrase"'],
  ["hello AND", "hello"],
  ["OR world", "world"],
  ["AND foo AND", "foo"],
  ["AND", ""],
  ["***", ""],
  ["not now", "now"],
  ['hello "unmatched', "hello  unmatched"],
  ["C++", "C"],
  ["foo^2", "foo 2"],
  ["{x}", "x"],
  ["(foo OR bar)", "foo OR bar"],
  ["TODO: fix", "TODO  fix"],
  ["chat-send", '"chat-send"'],
  ["P2.2", '"P2.2"'],
  ["read_file", '"read_file"'],
  ["my-app.config.ts", '"my-app.config.ts"'],
  ['"a" "b-c" d.e', '"a" "b-c" "d.e"'],
  ["config.yaml:12", '"config.yaml" 12'],
  ["*foo", "foo"],
  ["de**ploy", "de*ploy"],
  ["deploy*", "deploy*"],
  ["não-é", '"não-é"'],
  ["数据库.配置", '"数据库.配置"'],
  ["docker OR kubernetes", "docker OR kubernetes"],
  ["python NOT java", "python NOT java"],
]

const FALLBACKS: readonly (readonly [string, string])[] = [
  ["it's", `"it's"`],
  ["-foo", '"-foo"'],
  ["100%", '"100%"'],
  ["#123", '"#123"'],
  ["a - b", '"a" "b"'],
  ["C# and F#", '"C#" "and" "F#"'],
  ["/usr/local/bin", '"/usr/local/bin"'],
  ["user@example.com", '"user@example.com"'],
  ["a/b-c/d", '"a/b-c/d"'],
  ["x AND AND", '"x"'],
  ["a AND OR b", '"a" "b"'],
  ["deploy* it's", `deploy* "it's"`],
]

test.each(SANITIZED)("%j is sanitized to %j", (query, sanitized) => {
  expect(sanitizeQuery(query)).toBe(sanitized)
})

test.each(FALLBACKS)("the fallback of %j is %j", (query, fallback) => {
  expect(fallbackQuery(query)).toBe(fallback)
})

test.each([
  ["大别山项目", "trigrams"],
  ["大别山", "trigrams"],
  ["桂林", "like"],
  ["广西 OR 桂林 OR 漓江", "like"],
  ["docker 部署", "like"],
  ["docker", "words"],
  ["大别山 OR 长江三峡", "trigrams"],
  ["大别山 v2", "like"],
])("%j is routed to %s", (query, kind) => {
  expect(routeQuery(sanitizeQuery(query)).kind).toBe(kind)
})

test("the trigram query quotes tokens and keeps operators", () => {
  expect(routeQuery("大别山 OR docker NOT 长江三峡")).toEqual({
    kind: "trigrams",
    match: '"大别山" OR "docker" NOT "长江三峡"',
    tokens: { included: ["大别山", "docker"], excluded: ["长江三峡"] },
  })
})

let db: DatabaseSync
beforeAll(() => {
  db = new DatabaseSync(":memory:")
  db.exec("CREATE VIRTUAL TABLE docs USING fts5(content)")
})
afterAll(() => db.close())

const matches = (query: string): unknown[] => db.prepare("SELECT rowid FROM docs WHERE docs MATCH ?").all(query)

test.each(SANITIZED.filter(([query, sanitized]) => sanitized !== "" && query !== "de**ploy"))(
  "FTS5 accepts the sanitized form of %j",
  (query) => {
    expect(() => matches(sanitizeQuery(query))).not.toThrow()
  },
)

test.each(FALLBACKS)("FTS5 accepts the fallback of %j", (query) => {
  expect(() => matches(fallbackQuery(query))).not.toThrow()
})
