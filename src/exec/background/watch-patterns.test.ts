import { expect, test } from "vitest"
import { createWatch } from "./watch-patterns.ts"

const match = (pattern: string, output: string, suppressed = 0) => ({ kind: "match", pattern, output, suppressed })

test("lines with one of the texts are reported, without colours, also over two pieces", () => {
  const watch = createWatch(["ERROR", "ready"])
  expect(watch.scan("starting\nnothing here\n", 0)).toBeUndefined()
  expect(watch.scan("server re", 1)).toBeUndefined()
  expect(watch.scan("\u001B[32mady\u001B[0m on 80", 2)).toEqual(match("ready", "server ready on 80"))
  expect(watch.scan("00\n", 30_000)).toBeUndefined()
  expect(watch.scan("a ERROR\nb\nc ready\n", 60_000)).toEqual(match("ERROR", "a ERROR\nc ready"))
})

test("a prompt without a newline is reported once", () => {
  const watch = createWatch(["Password:"])
  expect(watch.scan("Password: ", 0)).toEqual(match("Password:", "Password: "))
  expect(watch.scan("x", 100_000)).toBeUndefined()
})

test("at most one report in 15 seconds; what is left out is counted", () => {
  const watch = createWatch(["x"])
  expect(watch.scan("x1\n", 0)).toEqual(match("x", "x1"))
  expect(watch.scan("x2\nx3\n", 14_999)).toBeUndefined()
  expect(watch.scan("x4\n", 15_000)).toEqual(match("x", "x4", 2))
})

test("three windows in a row with too many matches turn watching off", () => {
  const watch = createWatch(["x"])
  const kinds = [0, 1, 2, 15_000, 15_001, 30_000, 30_001, 30_002, 60_000].map((now) => watch.scan("x\n", now)?.kind)
  expect(kinds).toEqual(["match", undefined, undefined, "match", undefined, "match", "disabled", undefined, undefined])
})

test("a quiet window takes the strikes back", () => {
  const watch = createWatch(["x"])
  const kinds = [0, 1, 20_000, 20_001, 40_000, 60_000, 60_001, 80_000, 80_001].map(
    (now) => watch.scan("x\n", now)?.kind,
  )
  expect(kinds).not.toContain("disabled")
})

test("a report is at most 20 lines and 2000 characters", () => {
  const many = createWatch(["x"]).scan("x\n".repeat(50), 0)
  expect(many).toEqual(match("x", Array.from({ length: 20 }, () => "x").join("\n")))
  expect(createWatch(["x"]).scan(`${"x".repeat(5000)}\n`, 0)).toEqual(match("x", "x".repeat(2000)))
})
