import { expect, test } from "vitest"
import { toolBench } from "../../../test/fixtures/tools/tool-context.ts"
import { fail, ok } from "../../base/result.ts"
import type { MemoryPort } from "../../toolkit/ports/memory.ts"
import { memory } from "./memory.ts"

const port: MemoryPort = {
  add: (_target, text) =>
    Promise.resolve(text === "too much" ? fail("memory is full") : ok({ usedChars: text.length, limitChars: 100 })),
  entries: (target) => Promise.resolve([`about ${target}`]),
}

test("facts are kept and read through the session's port", async () => {
  await using bench = await toolBench()
  const ports = { memory: port }
  expect(await bench.call(memory, { action: "add", target: "user", content: " likes tabs " }, { ports })).toEqual({
    saved: "likes tabs",
    target: "user",
    used_chars: 10,
    limit_chars: 100,
  })
  expect(await bench.call(memory, { action: "read" }, { ports })).toEqual({
    target: "memory",
    entries: ["about memory"],
  })
  expect(await bench.call(memory, { action: "add", content: "too much" }, { ports })).toEqual({
    error: "memory is full",
  })
  expect(await bench.call(memory, { action: "add", content: "  " }, { ports })).toEqual({
    error: expect.stringContaining("content is missing"),
  })
})

test("a caller without the port is told so; reading is a read, adding a write", async () => {
  await using bench = await toolBench()
  expect(await bench.call(memory, { action: "read" })).toEqual({ error: "memory is not available here" })
  const access = ["read", "add"].map((action) => {
    const parsed = memory.runnable.parse({ action })
    return parsed.ok ? parsed.value.access : parsed.error
  })
  expect(access).toEqual(["read", "write"])
})
