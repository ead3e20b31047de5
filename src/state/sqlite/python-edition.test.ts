import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { expect, test } from "vitest"
import {
  LISTABLE,
  MULTIMODAL,
  PYTHON_VERSIONS,
  buildPythonDatabase,
} from "../../../test/fixtures/state/python-edition.ts"
import type { PythonVersion } from "../../../test/fixtures/state/python-edition.ts"
import { session, sessionId, temporaryDirectory, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { TemporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import { checkHealth } from "./health.ts"
import { titleWithReason } from "../../../test/support/skip-reason.ts"

const PLAIN = "20231114_221320_plain0"
const FORK = "20231114_221410_fork00"
const LONG = "20231114_221420_long00"
const LONG_2 = "20231114_221430_long02"
const EXPECTED_VERSION: Readonly<Record<PythonVersion, number>> = { 6: 11, 10: 11, 11: 11, 16: 16 }

interface PythonView {
  readonly version: number
  readonly integrity: string
  readonly sessions: number
  readonly messages: number
  readonly indexed: readonly number[]
  readonly titles: readonly string[]
  readonly listable: readonly string[]
  readonly continuations: readonly (readonly string[])[]
  readonly docker: readonly number[]
  readonly trigram: readonly number[]
  readonly web_search: readonly number[]
  readonly gramophone: number
  readonly multimodal: readonly string[]
  readonly hidden_by_16: readonly string[]
}

const python = spawnSync("python3", [
  "-c",
  "import sqlite3; sqlite3.connect(':memory:').execute(\"CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram')\")",
])
const noPython = python.status === 0 ? undefined : "python3 with FTS5 is not installed"

/** Runs the statements of the Python edition, which append one session, and returns their results. */
function pythonView(path: string): PythonView {
  const script = join(import.meta.dirname, "../../../test/fixtures/state/python-queries.py")
  const run = spawnSync("python3", [script, path], { encoding: "utf8" })
  if (run.status !== 0) throw new Error(run.stderr)
  return JSON.parse(run.stdout) as PythonView
}

function count(t: TemporaryStore, table: string): number {
  return t.raw((db) => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]))
}

test.each(PYTHON_VERSIONS)("a version %i database is listed, searched and resumed", async (version) => {
  using folder = temporaryDirectory()
  buildPythonDatabase(join(folder.path, "state.db"), version)
  await using t = await temporaryStore({ directory: folder.path })
  expect(t.store.info).toMatchObject({ schemaVersion: EXPECTED_VERSION[version], search: "full" })
  const listed = await t.store.list()
  expect(listed.map((row) => row.lineageRoot).toSorted()).toEqual(LISTABLE)
  expect(listed.find((row) => row.lineageRoot === LONG)).toMatchObject({
    id: LONG_2,
    title: "long #2",
    startedAt: 1_700_000_060,
  })
  const found = async (query: string): Promise<number[]> =>
    (await t.store.search(query)).map((hit) => hit.id).toSorted((a, b) => a - b)
  expect(await found("docker")).toEqual([1])
  expect(await found("大别山项目")).toEqual([2])
  expect(await found("桂林")).toEqual([2])
  expect(await found("web_search")).toEqual([4, 5])
  expect(await found("aqueduct")).toEqual([4])
  expect(await t.store.resumeTarget("long")).toBe(LONG_2)
  expect(await t.store.resumeTarget(LONG)).toBe(LONG_2)
  expect(await t.store.resumeTarget("20231114_221320")).toBe(PLAIN)
  expect(await t.store.conversation(sessionId(PLAIN))).toHaveLength(2)
  expect(await t.store.conversation(sessionId("20231114_221340_pictur"))).toMatchObject([
    { role: "user", content: [{ type: "text", text: "图 of the cat" }, { type: "image_url" }] },
    { role: "assistant", content: "a cat" },
  ])
  expect((await t.store.conversation(sessionId("20231114_221350_think0")))[1]).toMatchObject({
    reasoning: "hm",
    reasoning_details: [{ type: "thinking", signature: "sig" }],
    codex_reasoning_items: [{ id: "rs_1" }],
  })
})

/** Writes to the database as a few days of use would. */
async function work(t: TemporaryStore): Promise<void> {
  await t.store.append(sessionId(PLAIN), [{ role: "user", content: "another docker question" }])
  await t.store.append(sessionId(PLAIN), [
    {
      role: "user",
      content: [
        { type: "text", text: "图" },
        { type: "image_url", image_url: { url: "data:," } },
      ],
    },
  ])
  t.clock.seconds += 10
  await t.store.rotate(sessionId(LONG_2), session("long-3"), [{ role: "user", content: "shorter" }])
  await t.store.branch(sessionId(FORK), session("fork-2"), { title: "new title" })
  await t.store.createSession(session("with-tools"))
  await t.store.append(sessionId("with-tools"), [
    { role: "user", content: "go" },
    { role: "tool", content: "done", tool_call_id: "c", tool_name: "terminal" },
  ])
  await t.store.setGeneratedTitle(sessionId("with-tools"), "go")
  await t.store.deleteSession(sessionId("20231114_221350_think0"))
}

test.skipIf(noPython !== undefined).each(PYTHON_VERSIONS)(
  titleWithReason(
    "after use of a version %i database, the queries of the Python edition see the same, and vice versa",
    noPython,
  ),
  async (version) => {
    using folder = temporaryDirectory()
    const path = join(folder.path, "state.db")
    buildPythonDatabase(path, version)
    await using t = await temporaryStore({ directory: folder.path })
    await work(t)
    const [messages, sessions] = [count(t, "messages"), count(t, "sessions")]
    const view = pythonView(path)
    expect(view).toEqual({
      version: EXPECTED_VERSION[version],
      integrity: "ok",
      sessions: sessions + 1,
      messages: messages + 1,
      // Without the one message of the rotation.
      indexed: [messages, messages],
      titles: t.raw((db) =>
        db
          .prepare("SELECT title FROM sessions WHERE title IS NOT NULL ORDER BY title")
          .all()
          .map((row) => row["title"]),
      ),
      listable: view.listable,
      continuations: [
        [LONG, LONG_2],
        [LONG_2, "long-3"],
      ].toSorted(([, a], [, b]) => (a! < b! ? -1 : 1)),
      docker: version === 16 ? [1, 15, 16] : [1, 15],
      trigram: [2],
      web_search: [4, 5],
      gramophone: 1,
      multimodal: [
        MULTIMODAL,
        '\u0000json:[{"type":"text","text":"图"},{"type":"image_url","image_url":{"url":"data:,"}}]',
      ],
      hidden_by_16: [],
    })
    const archived = version === 16 ? ["20231114_221450_hidden"] : []
    const ours = (await t.store.list()).map((row) => row.lineageRoot)
    expect([...ours, ...archived].toSorted()).toEqual(view.listable)
    expect((await t.store.search("gramophone")).map((hit) => hit.sessionId)).toEqual(["written_by_python"])
    expect((await t.store.search("gramophone", { sort: "newest" })).map((hit) => hit.sessionId)).toEqual([
      "written_by_python",
    ])
    expect(await t.store.session(sessionId("written_by_python"))).toMatchObject({ messageCount: 1 })
  },
)

function storeInPython(path: string, id: string, word: string): unknown {
  const script = join(import.meta.dirname, "../../../test/fixtures/python/multimodal.py")
  const run = spawnSync("python3", [script, path, id, word], { encoding: "utf8" })
  if (run.status !== 0) throw new Error(run.stderr)
  return JSON.parse(run.stdout)
}

test.skipIf(noPython !== undefined)(
  titleWithReason("both editions index text with a NUL in the same way", noPython),
  async () => {
    await using t = await temporaryStore()
    await t.store.createSession(session("a"))
    const content = [{ type: "text", text: "zebra" }] as const
    await t.store.append(sessionId("a"), [
      { role: "user", content },
      { role: "user", content: "before\0zebra" },
    ])
    // The JSON of both, and the text that has the word before the NUL.
    expect(storeInPython(t.path, "a", "zebra")).toEqual([
      [1, 3, 6],
      [1, 3, 6],
    ])
    await t.store.append(sessionId("a"), [{ role: "user", content }])
    expect((await t.store.search("zebra")).map((hit) => hit.id).toSorted((a, b) => a - b)).toEqual([1, 3, 6, 7])
    expect((await checkHealth(t.path, { scope: "full" })).state).toBe("healthy")
  },
)

test.skipIf(noPython !== undefined).each([11, 16] as const)(
  titleWithReason("what the Python edition has indexed in a version %i database is indexed again", noPython),
  async (version) => {
    using folder = temporaryDirectory()
    const path = join(folder.path, "state.db")
    buildPythonDatabase(path, version)
    storeInPython(path, PLAIN, "zebra")
    await using t = await temporaryStore({ directory: folder.path })
    expect((await checkHealth(path, { scope: "full" })).state).toBe("healthy")
    expect(await t.store.search("zebra")).toHaveLength(2)
    const found = storeInPython(path, PLAIN, "okapi")
    expect(found).toEqual([
      [expect.any(Number), expect.any(Number)],
      [expect.any(Number), expect.any(Number)],
    ])
    expect((await checkHealth(path, { scope: "full" })).state).toBe("healthy")
  },
)

async function untitledSession(t: TemporaryStore): Promise<void> {
  await t.store.createSession(session("untitled"))
  await t.store.append(sessionId("untitled"), [
    { role: "user", content: "go" },
    { role: "tool", content: "done", tool_call_id: "c", tool_name: "terminal" },
  ])
}

test.skipIf(noPython !== undefined).each([
  ["a new database", 16],
  ["a database of an earlier release", 11],
])(
  titleWithReason("in %s, the Python edition lists an untitled session, and so does this one afterwards", noPython),
  async (_, version) => {
    using folder = temporaryDirectory()
    {
      await using t = await temporaryStore({ directory: folder.path })
      await untitledSession(t)
      t.raw((db) => {
        db.exec(`UPDATE schema_version SET version = ${version}`)
        db.exec("UPDATE state_meta SET value = 'of an earlier release' WHERE key = 'schema_fingerprint'")
      })
    }
    await using t = await temporaryStore({ directory: folder.path })
    expect(t.store.info.schemaVersion).toBe(16)
    const script = join(import.meta.dirname, "../../../test/fixtures/python/open-database.py")
    const opened = spawnSync("python3", [script, t.path], { encoding: "utf8" })
    expect([opened.stderr, JSON.parse(opened.stdout)]).toEqual(["", ["untitled"]])
    expect((await t.store.list()).map((row) => row.id)).toEqual(["untitled"])
  },
)

test.each(PYTHON_VERSIONS)("unknown rows and tables of a version %i database stay unchanged", async (version) => {
  using folder = temporaryDirectory()
  const path = join(folder.path, "state.db")
  buildPythonDatabase(path, version)
  await using t = await temporaryStore({ directory: folder.path })
  await t.store.optimize()
  const read = (sql: string): unknown[] =>
    t.raw((db) =>
      db
        .prepare(sql)
        .all()
        .map((row) => Object.values(row)[0]),
    )
  expect(read("SELECT content FROM messages WHERE instr(content, char(0)) = 1")).toEqual([MULTIMODAL])
  expect(read("SELECT model_config FROM sessions WHERE id = '20231114_221440_helper'")).toEqual([
    '{"_delegate_from": "20231114_221320_plain0"}',
  ])
  if (version === 16) expect(read("SELECT chat_id FROM telegram_dm_topic_mode")).toEqual(["42"])
})
