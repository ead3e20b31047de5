import { expect, test } from "vitest"
import { createPatternWatch } from "./watch-patterns.ts"

const match = (pattern: string, output: string, suppressed = 0) => ({ kind: "match", pattern, output, suppressed })

test("lines that contain a pattern are reported without colours, even when they arrive in two chunks", () => {
  const watch = createPatternWatch(["ERROR", "ready"])
  expect(watch.scan("starting\nnothing here\n", 0)).toBeUndefined()
  expect(watch.scan("server re", 1)).toBeUndefined()
  expect(watch.scan("\u001B[32mady\u001B[0m on 80", 2)).toEqual(match("ready", "server ready on 80"))
  expect(watch.scan("00\n", 30_000)).toBeUndefined()
  expect(watch.scan("a ERROR\nb\nc ready\n", 60_000)).toEqual(match("ERROR", "a ERROR\nc ready"))
})

test("a prompt without a newline is reported once", () => {
  const watch = createPatternWatch(["Password:"])
  expect(watch.scan("Password: ", 0)).toEqual(match("Password:", "Password: "))
  expect(watch.scan("x", 100_000)).toBeUndefined()
})

test("at most one match per 15 seconds is reported, with a count of the suppressed ones", () => {
  const watch = createPatternWatch(["x"])
  expect(watch.scan("x1\n", 0)).toEqual(match("x", "x1"))
  expect(watch.scan("x2\nx3\n", 14_999)).toBeUndefined()
  expect(watch.scan("x4\n", 15_000)).toEqual(match("x", "x4", 2))
})

test("three windows in a row with too many matches turn watching off", () => {
  const watch = createPatternWatch(["x"])
  const kinds = [0, 1, 2, 15_000, 15_001, 30_000, 30_001, 30_002, 60_000].map((now) => watch.scan("x\n", now)?.kind)
  expect(kinds).toEqual(["match", undefined, undefined, "match", undefined, "match", "disabled", undefined, undefined])
})

test("a window without further matches resets the strikes", () => {
  const watch = createPatternWatch(["x"])
  const kinds = [0, 1, 20_000, 20_001, 40_000, 60_000, 60_001, 80_000, 80_001].map(
    (now) => watch.scan("x\n", now)?.kind,
  )
  expect(kinds).not.toContain("disabled")
})

test("a report is at most 20 lines and 2000 characters", () => {
  const many = createPatternWatch(["x"]).scan("x\n".repeat(50), 0)
  expect(many).toEqual(match("x", Array.from({ length: 20 }, () => "x").join("\n")))
  expect(createPatternWatch(["x"]).scan(`${"x".repeat(5000)}\n`, 0)).toEqual(match("x", "x".repeat(2000)))
})
