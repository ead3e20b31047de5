import { expect, test } from "vitest"
import { lazy } from "./lazy.ts"

test("the value is created on first use and once", () => {
  let created = 0
  const value = lazy(() => {
    created += 1
    return { created }
  })
  expect(value.peek()).toBeUndefined()
  expect(created).toBe(0)
  expect(value()).toBe(value())
  expect(value.peek()).toBe(value())
  expect(created).toBe(1)
})

test("undefined is a value too", () => {
  let created = 0
  const value = lazy(() => {
    created += 1
    return undefined
  })
  value()
  value()
  expect(created).toBe(1)
})

test("a rejected promise is kept, or retried with the retry option", async () => {
  for (const { retry, attempts } of [
    { retry: false, attempts: 1 },
    { retry: true, attempts: 2 },
  ]) {
    let made = 0
    const value = lazy(
      async () => {
        made += 1
        throw new Error("no")
      },
      { retry },
    )
    await expect(value()).rejects.toThrow("no")
    await expect(value()).rejects.toThrow("no")
    expect(made).toBe(attempts)
  }
})
