import { closeSync, existsSync, openSync, readFileSync, readdirSync, writeFileSync, writeSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { systemClock } from "../../src/base/clock.ts"
import { toSessionId } from "../../src/protocol/identifiers.ts"
import { openSqliteStore } from "../../src/state/sqlite/open-store.ts"
import { recordingLogger, withRawDatabase } from "../fixtures/state/temporary-store.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { repeat, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome, type TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

const SESSION = toSessionId("20260101_100000_aaaaaa")
const NOTICE = /The session database was damaged: Hermes saved (\d+) of 298 messages in a new one and kept /

const MESSAGES = Array.from({ length: 298 }, (_, index) =>
  index % 2 === 0
    ? { role: "user" as const, content: `question ${index} ${"x".repeat(200)}` }
    : { role: "assistant" as const, content: `answer ${index} ${"x".repeat(index === 151 ? 9000 : 200)}` },
)

const MIDDLE =
  "SELECT pageno AS page FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY pageno LIMIT 1 OFFSET 8"

/** Stores 298 messages, then overwrites the page that the query returns; without one, a page in the middle of the messages. */
async function damageDatabase(home: TemporaryHome, query = MIDDLE): Promise<void> {
  const path = join(home.path, "state.db")
  const store = await openSqliteStore({ path, clock: systemClock, log: recordingLogger() })
  await store.createSession({ id: SESSION, source: "cli", startedAt: 1_800_000_000 })
  await store.append(SESSION, MESSAGES)
  await store.close()
  const page = withRawDatabase(path, (db) => Number(db.prepare(query).get()?.["page"]))
  const file = openSync(path, "r+")
  writeSync(file, Buffer.alloc(4096, 0x5a), 0, 4096, (page - 1) * 4096)
  closeSync(file)
}

const setAside = (home: TemporaryHome): readonly string[] =>
  readdirSync(home.path).filter((name) => /malformed-backup-[\d_]+(-\d+)?$/.test(name))

describe("a damaged state.db", () => {
  test("costs the messages of its damaged page; the conversation goes on and is stored", async () => {
    await using model = await startModelServer([repeat(says("Hello again."))])
    await using home = await temporaryHome({ config: settingsFor(model, "  context_length: 200000\n") })
    await damageDatabase(home)

    const first = await hermes(home, ["-z", "and now?", "--resume", SESSION])
    expect([first.code, first.stdout.trim()]).toEqual([0, "Hello again."])
    const saved = Number(NOTICE.exec(first.stderr)?.[1])
    expect(saved).toBeGreaterThan(250)
    expect(first.stderr.trim().split("\n")).toHaveLength(1)
    expect(setAside(home)).toHaveLength(1)

    const second = await hermes(home, ["-z", "still there?", "--resume", SESSION])
    expect([second.code, second.stderr]).toEqual([0, ""])
    const shown = await hermes(home, ["sessions", "show", SESSION])
    expect(shown.stdout).toContain("and now?")
    expect(shown.stdout).toContain("still there?")
    expect(shown.stdout).toContain("question 0 ")
    expect((await hermes(home, ["sessions", "repair", "--check-only"])).code).toBe(0)
  })

  test.each([
    ["the first page", "SELECT 1 AS page"],
    ["the root page of the messages", "SELECT rootpage AS page FROM sqlite_master WHERE name = 'messages'"],
    ["the root page of the sessions", "SELECT rootpage AS page FROM sqlite_master WHERE name = 'sessions'"],
  ])("without %s keeps every message", async (_, query) => {
    await using model = await startModelServer([repeat(says("Hello again."))])
    await using home = await temporaryHome({ config: settingsFor(model, "  context_length: 200000\n") })
    await damageDatabase(home, query)

    const { code, stdout, stderr } = await hermes(home, ["-z", "and now?", "--resume", SESSION])
    expect([code, stdout.trim()]).toEqual([0, "Hello again."])
    expect(stderr).toMatch(/damaged: Hermes saved (298 of )?298 messages in a new one and kept the damaged file as /)
    const shown = JSON.parse((await hermes(home, ["sessions", "export", "-", "--session-id", SESSION])).stdout)
    const contents = shown.messages.map((message: { content: string }) => message.content)
    expect(contents.slice(0, 298)).toEqual(MESSAGES.map(({ content }) => content))
    expect((await hermes(home, ["sessions", "repair", "--check-only"])).code).toBe(0)
  })

  test("is repaired once by processes that start at the same moment", async () => {
    await using model = await startModelServer([repeat(says("Hello again."))])
    await using home = await temporaryHome({ config: settingsFor(model, "  context_length: 200000\n") })
    await damageDatabase(home)
    const runs = await Promise.all(
      ["one", "two", "three"].map((prompt) => hermes(home, ["-z", prompt, "--resume", SESSION])),
    )
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(runs.filter(({ stderr }) => NOTICE.test(stderr))).toHaveLength(1)
    expect(setAside(home)).toHaveLength(1)
    const { stdout } = await hermes(home, ["sessions", "show", SESSION])
    for (const prompt of ["one", "two", "three"]) expect(stdout).toContain(`\n${prompt}\n`)
  })

  test("that is no database at all is set aside with one sentence", async () => {
    await using model = await startModelServer([repeat(says("Hello."))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    writeFileSync(join(home.path, "state.db"), "junk ".repeat(5000))
    const first = await hermes(home, ["-z", "hi"])
    expect([first.code, first.stdout.trim()]).toEqual([0, "Hello."])
    expect(first.stderr).toMatch(/state\.db was not a session database, .* kept the damaged file as .*\.\n$/)
    expect(readFileSync(join(home.path, setAside(home)[0] ?? ""), "utf8")).toContain("junk")
    const second = await hermes(home, ["-z", "hi"])
    expect([second.code, second.stderr]).toEqual([0, ""])
    expect((await hermes(home, ["sessions", "stats"])).stdout).toContain("Messages  4")
  })
})

test.each(["", "relative"])(
  "HOME=%j uses the home of the account and leaves the working directory alone",
  async (HOME) => {
    await using home = await temporaryHome()
    const { code, stdout } = await hermes(home, ["config", "path"], { env: { HOME, HERMES_HOME: "" } })
    expect([code, stdout.trim()]).toEqual([0, join(userInfo().homedir, ".hermes", "config.yaml")])
    expect(readdirSync(home.workdir)).toEqual([])
  },
)

test("`hermes model` stores nothing when it is interrupted after the key", async () => {
  await using home = await temporaryHome({ env: { HTTPS_PROXY: "http://127.0.0.1:1" } })
  await using terminal = await openTerminal({
    command: hermesCommand(),
    args: ["model"],
    env: { ...home.env, TERM: "xterm-256color" },
    cwd: home.workdir,
  })
  await terminal.waitFor(/Provider.*:/)
  terminal.type("deepseek\r")
  await terminal.waitFor(/DEEPSEEK_API_KEY/)
  terminal.type("sk-typed-0123456789\r")
  await terminal.waitFor(/Model.*:/)
  terminal.press("ctrl+c")
  expect((await terminal.exit).code).not.toBe(0)
  expect(["config.yaml", ".env"].filter((name) => existsSync(join(home.path, name)))).toEqual([])
})
