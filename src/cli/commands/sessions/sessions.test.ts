import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { systemClock } from "../../../base/clock.ts"
import { toSessionId } from "../../../protocol/identifiers.ts"
import type { Message } from "../../../protocol/message.ts"
import { openSqliteStore } from "../../../state/sqlite/open-store.ts"
import { createCliHome, type CliHome } from "../../../../test/support/cli-home.ts"

const NOW = Date.now() / 1000
const WORK = "20260101_100000_aaaaaa"
const MUSIC = "20260102_100000_bbbbbb"
const TOOL = "20260103_100000_cccccc"

interface Seed {
  readonly id: string
  readonly source?: string
  readonly title?: string
  readonly startedAt: number
  readonly ended?: boolean
  readonly messages: readonly Message[]
}

const SEEDS: readonly Seed[] = [
  {
    id: WORK,
    title: "Tax return 2025",
    startedAt: NOW - 7200,
    messages: [
      { role: "user", content: "Where is my passport \u001B[31m scan \u001B[0m?" },
      {
        role: "assistant",
        content: "Looking.",
        tool_calls: [
          { id: "c1", type: "function", function: { name: "search_files", arguments: '{"pattern":"passport"}' } },
        ],
      },
      { role: "tool", content: "scan.pdf", tool_call_id: "c1", tool_name: "search_files" },
    ],
  },
  {
    id: MUSIC,
    startedAt: NOW - 100 * 86_400,
    ended: true,
    messages: [{ role: "user", content: "Play something by Bach" }],
  },
  { id: TOOL, source: "tool", startedAt: NOW - 60, messages: [{ role: "user", content: "hidden passport job" }] },
]

async function seeded(): Promise<CliHome> {
  const home = createCliHome()
  const store = await openStore(home)
  for (const seed of SEEDS) {
    const id = toSessionId(seed.id)
    await store.createSession({ id, source: seed.source ?? "cli", startedAt: seed.startedAt })
    await store.append(
      id,
      seed.messages.map((message) => ({ ...message, timestamp: seed.startedAt })),
    )
    if (seed.title !== undefined) await store.setTitle(id, seed.title)
    if (seed.ended === true) await store.endSession(id, "done")
  }
  await store.close()
  return home
}

function openStore(home: CliHome): ReturnType<typeof openSqliteStore> {
  const log = { debug: () => undefined, warning: () => undefined }
  return openSqliteStore({ path: home.home.file("state.db"), clock: systemClock, log })
}

/** The ids of a listing: the last word of each line but the heading. */
const ids = (out: string): readonly string[] =>
  out
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(" ").at(-1) ?? "")

describe("list", () => {
  test("shows titles, previews without escape sequences, ages and whole ids; tool sessions are hidden", async () => {
    using home = await seeded()
    const { code, out, err } = await home.run(["sessions", "list"])
    expect({ code, err, ids: ids(out) }).toEqual({ code: 0, err: "", ids: [WORK, MUSIC] })
    const [heading, first] = out.split("\n")
    expect(heading).toMatch(/^Title {12}Preview {2,}Last active {2}ID$/)
    expect(first).toMatch(/^Tax return 2025 {2}Where is my/)
    expect(out).not.toContain("\u001B")
  })

  test("filters by source, limits, and shows kinds with --all", async () => {
    using home = await seeded()
    expect(ids((await home.run(["sessions", "list", "--source", "tool"])).out)).toEqual([TOOL])
    expect(ids((await home.run(["sessions", "list", "--limit", "1"])).out)).toEqual([WORK])
    expect((await home.run(["sessions", "list", "--all"])).out).toMatch(/Kind {10}ID\n.* conversation {2}/)
  })

  test("without any title the table has previews and sources", async () => {
    using home = await seeded()
    const { out } = await home.run(["sessions", "list", "--source", "tool"])
    expect(out.split("\n")[0]).toMatch(/^Preview {2,}Last active {2}Source {2}ID$/)
  })

  test("--json is one document", async () => {
    using home = await seeded()
    const { out } = await home.run(["sessions", "list", "--json"])
    expect(JSON.parse(out)).toMatchObject([
      { id: WORK, title: "Tax return 2025", message_count: 3, tool_call_count: 1, kind: "conversation", source: "cli" },
      { id: MUSIC, title: null },
    ])
  })
})

test("without a database nothing is listed or created, and no session is found", async () => {
  using home = createCliHome()
  expect(await home.run(["sessions", "list"])).toEqual({ code: 0, out: "There are no sessions to list.\n", err: "" })
  expect(await home.run(["sessions", "list", "--json"])).toEqual({ code: 0, out: "[]\n", err: "" })
  for (const line of [
    ["search", "x"],
    ["stats"],
    ["tree"],
    ["optimize"],
    ["prune"],
    ["repair"],
    ["repair", "--check-only"],
    ["export", "-"],
  ]) {
    expect((await home.run(["sessions", ...line])).code, line.join(" ")).toBe(0)
  }
  for (const line of [
    ["show", "x"],
    ["rename", "x", "y"],
    ["delete", "x", "-y"],
    ["archive", "x"],
    ["tree", "x"],
  ]) {
    expect(await home.run(["sessions", ...line])).toEqual({
      code: 1,
      out: "",
      err: "There is no session `x`. `hermes sessions list --all` shows them.\n",
    })
  }
  expect(existsSync(home.home.file("state.db"))).toBe(false)
})

describe("search", () => {
  test("prints title, time and session, then role and text", async () => {
    using home = await seeded()
    const { code, out } = await home.run(["sessions", "search", "passport", "--role", "user"])
    expect(code).toBe(0)
    expect(out).toMatch(
      new RegExp(
        `^Tax return 2025 {2}\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d {2}${WORK}\\n {2}user {2}Where is my passport .*\\n$`,
      ),
    )
    expect(out).not.toContain("\u001B")
  })

  test("not all words of a question are needed; syntax is matched exactly", async () => {
    using home = await seeded()
    const search = async (...words: readonly string[]): Promise<string> =>
      (await home.run(["sessions", "search", ...words])).out
    expect(await search("which", "piece", "by", "Bach", "did", "I", "play", "last", "summer?")).toContain(
      "Play something by Bach",
    )
    expect(await search("Bach", "AND", "summer")).toContain("Nothing was found")
    expect(await search('"by Bach"')).toContain("Play something by Bach")
  })

  test("groups by conversation, written text before tool results, which are readable and few", async () => {
    using home = await seeded()
    const store = await openStore(home)
    const result = (n: number): Message => ({
      role: "tool",
      tool_call_id: `c${n}`,
      tool_name: "read_file",
      content: JSON.stringify({ content: `line one\nthe passport number ${n}`, total_lines: 2, error: null }),
    })
    await store.append(toSessionId(MUSIC), [1, 2, 3, 4].map(result))
    const child = toSessionId("20260104_100000_dddddd")
    await store.rotate(toSessionId(WORK), { id: child, source: "cli", startedAt: NOW })
    await store.append(child, [{ role: "user", content: "The passport office called." }])
    await store.close()
    const { out } = await home.run(["sessions", "search", "passport"])
    const [work = "", music = ""] = out.split("\n\n")
    expect(work.split("\n")[0]).toMatch(new RegExp(`^Tax return 2025.*${child}$`))
    expect(work).toContain("Where is my passport")
    expect(work).toContain("The passport office called.")
    expect(work).toContain("\n  assistant  Looking. → search_files pattern: passport")
    const exact = await home.run(["sessions", "search", "passpor*", "--role", "assistant"])
    expect(exact.out).toContain("\n  assistant  Looking. → search_files pattern: passport")
    const rows = music.trimEnd().split("\n")
    expect(rows[0]).toMatch(new RegExp(`^\\(no title\\) .*${MUSIC}$`))
    expect(rows.slice(1, -1)).toHaveLength(3)
    for (const row of rows.slice(1, -1))
      expect(row).toMatch(/^ {2}read_file {2}line one the passport number \d total_lines: 2$/)
    expect(rows.at(-1)).toBe("  … 1 more match")
  })

  test("an empty query or an unknown role exits 2", async () => {
    using home = await seeded()
    for (const line of [[""], [" "], ["x", "--role", "robot"]]) {
      expect((await home.run(["sessions", "search", ...line])).code, line.join(" ")).toBe(2)
    }
  })

  test("reports when nothing was found, and prints JSON", async () => {
    using home = await seeded()
    expect((await home.run(["sessions", "search", "no", "such", "word"])).out).toBe(
      "Nothing was found for `no such word`.\n",
    )
    const hits: unknown = JSON.parse((await home.run(["sessions", "search", "Bach", "--json"])).out)
    expect(hits).toMatchObject([{ session_id: MUSIC, role: "user" }])
  })
})

describe("show", () => {
  test("prints facts and transcript of a session found by title, id or id prefix", async () => {
    using home = await seeded()
    for (const name of [["Tax", "return", "2025"], [WORK], [WORK.slice(0, 12)]]) {
      const { code, out } = await home.run(["sessions", "show", ...name])
      expect(code).toBe(0)
      expect(out).toContain(`Session    ${WORK}\nTitle      Tax return 2025\n`)
      expect(out).toContain('Looking.\n→ search_files {"pattern":"passport"}\n')
      expect(out).toMatch(/\] tool search_files\nscan\.pdf\n$/)
    }
  })

  test("a reply that was interrupted is marked, also in the export", async () => {
    using home = await seeded()
    const store = await openStore(home)
    await store.append(toSessionId(MUSIC), [{ role: "assistant", content: "Air on", finish_reason: "interrupted" }])
    await store.close()
    expect((await home.run(["sessions", "show", MUSIC])).out).toMatch(/\] assistant \(interrupted\)\nAir on\n$/)
    const exported: unknown = JSON.parse((await home.run(["sessions", "show", MUSIC, "--json"])).out)
    expect(exported).toMatchObject({ messages: [{}, { content: "Air on", finish_reason: "interrupted" }] })
  })

  test("--json prints the whole session", async () => {
    using home = await seeded()
    const shown: unknown = JSON.parse((await home.run(["sessions", "show", MUSIC, "--json"])).out)
    expect(shown).toMatchObject({ id: MUSIC, messages: [{ role: "user", content: "Play something by Bach" }] })
  })
})

describe("export", () => {
  test("writes a file with a session per line", async () => {
    using home = await seeded()
    const out = join(home.directory, "all.jsonl")
    expect(await home.run(["sessions", "export", out])).toEqual({
      code: 0,
      out: `Exported 3 sessions to ${out}.\n`,
      err: "",
    })
    const lines = readFileSync(out, "utf8").trimEnd().split("\n")
    expect(lines.map((line) => (JSON.parse(line) as { id: string }).id).toSorted()).toEqual([WORK, MUSIC, TOOL])
  })

  test("filters by source and session, and prints with -", async () => {
    using home = await seeded()
    const lines = async (...flags: string[]): Promise<readonly string[]> => {
      const { out } = await home.run(["sessions", "export", "-", ...flags])
      return out
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as { id: string }).id)
    }
    expect(await lines("--source", "tool")).toEqual([TOOL])
    expect(await lines("--session-id", MUSIC)).toEqual([MUSIC])
  })

  test("writes one session as a document, by flag or by extension", async () => {
    using home = await seeded()
    const [markdown, html] = [join(home.directory, "a.md"), join(home.directory, "a.html")]
    const printed = await home.run(["sessions", "export", "-", "--format", "markdown", "--session-id", WORK])
    expect(printed).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^# Tax return 2025\n[^]*## You[^]*passport/u),
    })
    expect(await home.run(["sessions", "export", markdown, "--session-id", WORK])).toMatchObject({ code: 0 })
    expect(readFileSync(markdown, "utf8")).toBe(printed.out)
    expect(await home.run(["sessions", "export", html, "--session-id", WORK])).toEqual({
      code: 0,
      out: `Exported 1 session to ${html}.\n`,
      err: "",
    })
    expect(readFileSync(html, "utf8")).toMatch(/^<!doctype html>[^]*<\/html>\n$/u)
    expect(await home.run(["sessions", "export", html])).toMatchObject({
      code: 2,
      err: expect.stringContaining("An HTML file holds one session. Choose it with --session-id ID"),
    })
    expect(await home.run(["sessions", "export", html, "--session-id", "nothing"])).toMatchObject({ code: 1 })
  })

  test.each([
    ["missing/dir/x", /^Cannot write .*missing\/dir\/x: no such file or directory\.\n$/, 1],
    [".", /is a directory; name a file\.\n$/, 2],
  ])("to %s fails in one sentence", async (name, err, code) => {
    using home = await seeded()
    const result = await home.run(["sessions", "export", join(home.directory, name)])
    expect(result.code).toBe(code)
    expect(result.err).toMatch(err)
  })
})

describe("rename", () => {
  test("joins words, and refuses a title that is too long or taken", async () => {
    using home = await seeded()
    expect(await home.run(["sessions", "rename", MUSIC, "Bach", "and", "more"])).toEqual({
      code: 0,
      out: `${MUSIC} is now called \`Bach and more\`.\n`,
      err: "",
    })
    expect(await home.run(["sessions", "rename", MUSIC, "Tax return 2025"])).toEqual({
      code: 1,
      out: "",
      err: `Another session has this title or id: ${WORK}. Choose another title.\n`,
    })
    const long = await home.run(["sessions", "rename", MUSIC, "x".repeat(300)])
    expect(long).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^The title has 300 characters; \d+ are allowed\.\n$/),
    })
  })
})

test("an exact title wins over numbered ones, and only reading falls back to the newest number", async () => {
  using home = await seeded()
  const store = await openStore(home)
  await store.setTitle(toSessionId(MUSIC), "Tax return 2025 #3")
  await store.close()
  expect((await home.run(["sessions", "delete", "Tax return 2025", "-y"])).out).toBe(`Deleted ${WORK}.\n`)
  expect((await home.run(["sessions", "delete", "Tax return 2025", "-y"])).err).toContain("There is no session")
  expect((await home.run(["sessions", "rename", "Tax return 2025", "x"])).code).toBe(1)
  expect((await home.run(["sessions", "show", "Tax return 2025"])).out).toContain(MUSIC)
})

test.each([
  ["sessions", "show", "202601"],
  ["sessions", "delete", "202601", "-y"],
  ["sessions", "rename", "202601", "x"],
  ["-z", "hi", "--resume", "202601"],
])("an ambiguous id is reported with its candidates: %s %s", async (...line) => {
  using home = await seeded()
  const { code, err } = await home.run(line)
  expect(code).toBe(1)
  expect(err).toContain(
    `"202601" is ambiguous. These session ids start with it: ${TOOL}, ${MUSIC}, ${WORK} (Tax return 2025). Type more of the id.`,
  )
})

describe("delete and prune ask first", () => {
  test("without a terminal and without -y nothing happens", async () => {
    using home = await seeded()
    for (const line of [["delete", WORK], ["prune"]]) {
      expect(await home.run(["sessions", ...line])).toEqual({
        code: 1,
        out: "",
        err: expect.stringMatching(/^Nothing was changed.*Use -y /),
      })
    }
    expect(ids((await home.run(["sessions", "list"])).out)).toEqual([WORK, MUSIC])
  })

  test("answering no changes nothing, answering yes deletes", async () => {
    using home = await seeded()
    expect(await home.run(["sessions", "delete", WORK], { answers: ["n"] })).toMatchObject({
      code: 0,
      out: "Nothing was deleted.\n",
    })
    expect(await home.run(["sessions", "delete", WORK], { answers: ["y"] })).toMatchObject({
      code: 0,
      out: `Deleted ${WORK}.\n`,
    })
    expect(ids((await home.run(["sessions", "list"])).out)).toEqual([MUSIC])
  })

  test("prune prints how many sessions it deleted", async () => {
    using home = await seeded()
    expect((await home.run(["sessions", "prune", "--older-than", "200"])).out).toBe(
      "No ended session is older than 200 days.\n",
    )
    expect((await home.run(["sessions", "prune", "-y"])).out).toBe("Deleted 1 session.\n")
  })
})

test("archive prints how to undo it", async () => {
  using home = await seeded()
  expect((await home.run(["sessions", "archive", WORK])).out).toBe(
    `Archived ${WORK}; \`hermes sessions unarchive ${WORK}\` brings it back.\n`,
  )
  expect((await home.run(["sessions", "unarchive", WORK])).out).toBe(`${WORK} is listed again.\n`)
})

test("tree draws branches below their parent", async () => {
  using home = await seeded()
  const store = await openStore(home)
  const child = toSessionId("20260104_100000_dddddd")
  await store.branch(
    toSessionId(WORK),
    { id: child, source: "cli", startedAt: NOW, parent: toSessionId(WORK) },
    { title: "Side" },
  )
  await store.close()
  const { out } = await home.run(["sessions", "tree", WORK])
  expect(out.split("\n")[0]).toMatch(
    new RegExp(`^${WORK} conversation “Tax return 2025” \\(.*3 messages, ended: branched\\)$`),
  )
  expect(out.split("\n")[1]).toMatch(new RegExp(`^└─ ${child} branch “Side”`))
})

test("stats and optimize report", async () => {
  using home = await seeded()
  const stats: unknown = JSON.parse((await home.run(["sessions", "stats", "--json"])).out)
  expect(stats).toMatchObject({ sessions: 3, messages: 5, by_source: { cli: 2, tool: 1 }, search: "full" })
  expect((await home.run(["sessions", "stats"])).out).toMatch(
    /^Sessions {2}3\nMessages {2}5\n {2}cli {14}2\n {2}tool {13}1\nDatabase/,
  )
  expect((await home.run(["sessions", "optimize"])).out).toMatch(/^Optimized: \d+\.\d MB before, \d+\.\d MB now\.\n$/)
})

describe("damage", () => {
  test("a healthy file is left alone", async () => {
    using home = await seeded()
    expect(await home.run(["sessions", "repair", "--check-only"])).toEqual({
      code: 0,
      out: "The session database is healthy.\n",
      err: "",
    })
    expect((await home.run(["sessions", "repair"])).code).toBe(0)
  })

  test.each([["list"], ["search", "x"], ["show", "x"], ["stats"]])(
    "a file that is not a database is one sentence for %s",
    async (...line) => {
      using home = createCliHome()
      writeFileSync(home.home.file("state.db"), "this is not a database".repeat(100))
      const { err } = await home.run(["sessions", ...line])
      expect(err).toMatch(/^state\.db was not a session database, .* kept the damaged file as .*\.\n/)
      const kept = readdirSync(home.home.path).find((name) => /malformed-backup-[\d_]+$/.test(name))
      expect(readFileSync(home.home.file(kept ?? ""), "utf8")).toContain("this is not a database")
      expect((await home.run(["sessions", ...line])).err).not.toContain("state.db")
    },
  )

  test("repair --check-only of such a file exits 1", async () => {
    using home = createCliHome()
    writeFileSync(home.home.file("state.db"), "this is not a database".repeat(100))
    expect((await home.run(["sessions", "repair", "--check-only"])).code).toBe(1)
  })
})

describe("browse", () => {
  test("without a terminal it names the commands to use instead", async () => {
    using home = await seeded()
    expect(await home.run(["sessions", "browse"])).toEqual({
      code: 1,
      out: "",
      err: "`hermes sessions browse` needs a terminal; use `hermes sessions list` and `hermes --resume ID`.\n",
    })
  })

  test("Enter quits, a wrong number is asked again", async () => {
    using home = await seeded()
    const { code, err } = await home.run(["sessions", "browse"], { answers: ["9", ""] })
    expect(code).toBe(0)
    expect(err).toContain("Type a number from 1 to 2.\n")
  })
})
