import { expect, test } from "vitest"

import { BoundedBytes } from "./bounded-bytes.ts"

function bounded(text: string, max: number, chunk: number): string {
  const bytes = new TextEncoder().encode(text)
  const kept = new BoundedBytes(max)
  for (let at = 0; at < bytes.length; at += chunk) kept.push(bytes.subarray(at, at + chunk))
  return kept.toString()
}

test.each([1, 7, 100, 100_000])("keeps 40 % of the head and 60 % of the tail, in chunks of %s bytes", (chunk) => {
  const text = "a".repeat(300) + "b".repeat(300)
  expect(bounded(text, 500, chunk)).toBe(
    `${"a".repeat(200)}\n\n[... 100 of 600 bytes left out ...]\n\n${"b".repeat(300)}`,
  )
  expect(bounded("short", 500, chunk)).toBe("short")
})

test("cuts between characters", () => {
  for (let max = 20; max < 60; max += 1) expect(bounded("ä€😀".repeat(40), max, 5)).not.toContain("\uFFFD")
})
