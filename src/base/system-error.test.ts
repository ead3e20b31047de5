import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { errorCode, errorMessage, explainSystemError, isNotFound } from "./system-error.ts"

const caught = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return error
  }
}

test("a real system error is explained in words", () => {
  const missing = caught(() => readFileSync("/no/such/file"))
  expect([errorCode(missing), isNotFound(missing), explainSystemError(missing)]).toEqual([
    "ENOENT",
    true,
    "no such file or directory",
  ])
  expect(explainSystemError(caught(() => readFileSync("/")))).toBe("it is a directory")
})

test("any other error keeps its own message", () => {
  expect([
    explainSystemError(Object.assign(new Error("own words"), { code: "toString" })),
    explainSystemError("text"),
    errorMessage(new Error("m")),
    errorCode({ code: "ENOENT" }),
  ]).toEqual(["own words", "text", "m", undefined])
})
