import { appendFileSync } from "node:fs"
import { expect, test } from "vitest"
import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { formatLogLine, type LogLevel } from "../../base/log-line.ts"
import { readLogFilter } from "./log-filter.ts"
import { logPath, readLog } from "./read-log.ts"

const NOW = Date.now()
const signal = new AbortController().signal

interface EntryOptions {
  readonly logger?: string
  readonly session?: string
  readonly text: string
}

const entry = (minutesAgo: number, level: LogLevel, { logger = "agent", session, text }: EntryOptions): string =>
  formatLogLine({ time: NOW - minutesAgo * 60_000, level, session, logger, message: text })

const LINES = [
  entry(300, "INFO", { text: "old" }),
  entry(90, "ERROR", { logger: "tools.web", session: "s_abc", text: "failed\n  at a.ts\n  at b.ts" }),
  entry(40, "DEBUG", { logger: "cli.main", text: "detail" }),
  entry(20, "WARNING", { logger: "gateway.telegram", session: "s_def", text: "slow" }),
  entry(1, "INFO", { logger: "agentless", text: "new" }),
].join("\n")

interface Request {
  readonly count?: number
  readonly level?: string
  readonly session?: string
  readonly since?: string
  readonly component?: string
}

/** The end of each selected line, which identifies the line. */
async function read(files: Readonly<Record<string, string>>, request: Request): Promise<readonly string[]> {
  using context = createTestHomeContext(files)
  const { level, session, since, component, count = 50 } = request
  const filter = readLogFilter({ level, session, since, component, now: NOW })
  if (!filter.ok) throw new Error(filter.error)
  const lines = readLog(context, "agent", { count, filter: filter.value, follow: false, signal })
  return (await Array.fromAsync(lines ?? [])).map((line) => line.split(/: |\s+at /).at(-1) ?? "")
}

test.each<[Request, readonly string[]]>([
  [{}, ["old", "failed", "a.ts", "b.ts", "detail", "slow", "new"]],
  [{ count: 2 }, ["slow", "new"]],
  [{ count: 0 }, []],
  [{ level: "warning" }, ["failed", "a.ts", "b.ts", "slow"]],
  [{ since: "30m" }, ["slow", "new"]],
  [{ level: "critical" }, []],
  [{ since: "2h", level: "ERROR" }, ["failed", "a.ts", "b.ts"]],
  [{ session: "abc" }, ["failed", "a.ts", "b.ts"]],
  [{ component: "tools" }, ["failed", "a.ts", "b.ts"]],
  [{ component: "agent" }, ["old"]],
  [{ component: "cli", level: "INFO" }, []],
  [{ component: "gateway", count: 1 }, ["slow"]],
])("%j selects %j", async (request, expected) => {
  expect(await read({ "logs/agent.log": `${LINES}\n` }, request)).toEqual(expected)
})

test("reads older parts when the newest has too few lines", async () => {
  const files = { "logs/agent.log": "d\n", "logs/agent.log.1": "b\nc\n", "logs/agent.log.2": "a\n" }
  expect(await read(files, { count: 3 })).toEqual(["b", "c", "d"])
  expect(await read(files, {})).toEqual(["a", "b", "c", "d"])
})

test("lines at the start of a part belong to the last entry of the older part", async () => {
  const [old, failed] = [entry(300, "INFO", { text: "old" }), entry(5, "ERROR", { text: "failed" })]
  const files = { "logs/agent.log": `  at a.ts\n${failed}\n  at b.ts\n`, "logs/agent.log.1": `${old}\n` }
  expect(await read(files, { level: "error" })).toEqual(["failed", "b.ts"])
  expect(await read(files, { since: "1h", count: 2 })).toEqual(["failed", "b.ts"])
  const shown = { ...files, "logs/agent.log.1": `${failed}\n` }
  expect(await read(shown, { level: "error" })).toEqual(["failed", "a.ts", "failed", "b.ts"])
})

test("lines of no entry pass filters on time and level", async () => {
  const files = { "logs/agent.log": `loose\n${entry(300, "INFO", { text: "old" })}\n  more\n` }
  expect(await read(files, { level: "error" })).toEqual(["loose"])
  expect(await read(files, { component: "agent" })).toEqual(["old", "  more"])
})

test("following hides the lines that continue a hidden entry", async () => {
  using context = createTestHomeContext({ "logs/agent.log": `${entry(5, "INFO", { text: "hidden" })}\n` })
  const path = logPath(context, "agent")
  const stop = new AbortController()
  const steps = [
    () => appendFileSync(path, `  hidden too\n${entry(1, "ERROR", { text: "failed" })}\n`),
    () => appendFileSync(path, "  at a.ts\n"),
  ]
  const clock = {
    ...context.clock,
    sleep: () => Promise.resolve((steps.shift() ?? (() => stop.abort()))()),
  }
  const options = { count: 5, filter: { level: "ERROR" as const }, follow: true, signal: stop.signal }
  const lines = await Array.fromAsync(readLog({ ...context, clock }, "agent", options) ?? [])
  expect(lines.map((line) => line.split(": ").at(-1))).toEqual(["failed", "  at a.ts"])
})

test("a log that does not exist is undefined", () => {
  using context = createTestHomeContext()
  expect(readLog(context, "gui", { count: 1, filter: {}, follow: true, signal })).toBeUndefined()
})
