import { expect, test } from "vitest"
import type { Clock } from "./clock.ts"
import { formatLogLine, parseLogLine } from "./log-line.ts"
import { createLogger, inLogSession, type LogSink } from "./logger.ts"

const at = new Date(2026, 2, 5, 7, 8, 9, 12).getTime()
const clock: Clock = { now: () => at, sleep: () => Promise.reject(new Error("not used")) }

function collect(level: LogSink["level"]): LogSink & { readonly lines: string[] } {
  const lines: string[] = []
  return { level, lines, write: (line) => void lines.push(line) }
}

test("a line has local time, level, logger and message", () => {
  const all = collect("DEBUG")
  const warnings = collect("WARNING")
  const log = createLogger({ sinks: [all, warnings], redact: (text) => text.replace("hunter2", "***"), clock })
  log.child("agent").child("loop").info("started with hunter2\n")
  log.warning("careful")
  log.child("x").debug("small")
  expect({ all: all.lines, warnings: warnings.lines }).toEqual({
    all: [
      "2026-03-05 07:08:09,012 INFO agent.loop: started with ***",
      "2026-03-05 07:08:09,012 WARNING hermes: careful",
      "2026-03-05 07:08:09,012 DEBUG x: small",
    ],
    warnings: ["2026-03-05 07:08:09,012 WARNING hermes: careful"],
  })
})

test("lines carry the session of the current call, even after its id has changed", async () => {
  const sink = collect("INFO")
  const log = createLogger({ sinks: [sink], redact: (text) => text, clock })
  const session = { id: "one" }
  await inLogSession(session, async () => {
    log.info("first")
    await Promise.resolve()
    session.id = "two"
    log.error("second")
  })
  log.info("outside")
  expect(sink.lines).toEqual([
    "2026-03-05 07:08:09,012 INFO [one] hermes: first",
    "2026-03-05 07:08:09,012 ERROR [two] hermes: second",
    "2026-03-05 07:08:09,012 INFO hermes: outside",
  ])
})

test("a formatted line can be parsed", () => {
  const entry = { time: at, level: "CRITICAL", session: "20260305_070809_abc", logger: "a.b", message: "x: y" } as const
  expect(parseLogLine(formatLogLine(entry))).toEqual(entry)
  const bare = { ...entry, session: undefined, message: "" }
  expect(parseLogLine(formatLogLine(bare))).toEqual(bare)
})

test.each(["", "  at file.ts:1", "2026-03-05 07:08:09,012 LOUD a: b", "Traceback", "2026-03-05 nonsense"])(
  "%j is not the first line of an entry",
  (line) => {
    expect(parseLogLine(line)).toBeUndefined()
  },
)

test("a message cannot forge an entry", () => {
  const line = formatLogLine({
    time: at,
    level: "INFO",
    session: undefined,
    logger: "a",
    message: "one\n2026-03-05 07:08:09,012 ERROR b: forged\nthree",
  })
  expect(line.split("\n").map((part) => parseLogLine(part)?.message)).toEqual(["one", undefined, undefined])
})
