import { setImmediate as eventLoopTurn } from "node:timers/promises"
import { describe, expect, test } from "vitest"

import type { Clock } from "../../base/clock.ts"
import type { Message } from "../../protocol/message.ts"
import { fenceMemory } from "./fence.ts"
import type { MemoryProvider, MemoryProviderContext } from "./memory-provider.ts"
import {
  createMemoryProviderHost,
  type MemoryProviderHost,
  type MemoryProviderHostOptions,
} from "./memory-provider-host.ts"

const CONTEXT: MemoryProviderContext = {
  sessionId: "s1",
  hermesHome: "/home/x/.hermes",
  platform: "cli",
  agentContext: "primary",
  agentIdentity: "default",
  agentWorkspace: "/w",
}

const MESSAGES: readonly Message[] = [
  { role: "user", content: "hi", injected: fenceMemory("recalled") },
  { role: "assistant", content: "<memory-context>\nechoed\n</memory-context>\nhello" },
]

/** A clock that advances only when all work waits for it. */
function virtualTime() {
  let now = 0
  const sleepers = new Set<{ readonly at: number; wake: () => void }>()
  const clock: Clock = {
    now: () => now,
    sleep: (ms, { signal }) =>
      new Promise((resolve, reject) => {
        const sleeper = { at: now + ms, wake: resolve }
        const stop = (): void => {
          sleepers.delete(sleeper)
          reject(new DOMException("stopped", "AbortError"))
        }
        sleepers.add(sleeper)
        if (signal.aborted) stop()
        else signal.addEventListener("abort", stop)
      }),
  }
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await eventLoopTurn()
  }
  return {
    clock,
    settle,
    sleepers: () => sleepers.size,
    /** Returns how long the work takes and its result. Throws when it would never finish. */
    async taken<T>(work: Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
      const start = now
      let outcome: { readonly value: T } | undefined
      const observed = work.then((value) => (outcome = { value }))
      for (;;) {
        await settle()
        if (outcome !== undefined) return { ms: now - start, value: (await observed).value }
        const [next] = [...sleepers].toSorted((a, b) => a.at - b.at)
        if (next === undefined) throw new Error("the work never finishes")
        now = next.at
        sleepers.delete(next)
        next.wake()
      }
    },
  }
}

function bench(memoryProvider: Partial<MemoryProvider>, more: Partial<MemoryProviderHostOptions> = {}) {
  const time = virtualTime()
  const logged: string[] = []
  const host = createMemoryProviderHost({
    memoryProvider: {
      name: "notes",
      isAvailable: () => true,
      initialize: () => Promise.resolve(),
      toolSchemas: () => [],
      ...memoryProvider,
    },
    clock: time.clock,
    log: { debug: (line) => void logged.push(line), warning: (line) => void logged.push(`! ${line}`) },
    context: CONTEXT,
    ...more,
  })
  return { host, time, logged }
}

async function started(memoryProvider: Partial<MemoryProvider>, more: Partial<MemoryProviderHostOptions> = {}) {
  const created = bench(memoryProvider, more)
  await created.time.taken(created.host.initialize())
  return created
}

/** Calls every hook of a turn once. */
function callEverything(host: MemoryProviderHost): void {
  host.promptBlock()
  host.onTurnStart(1, "hi", { remainingTokens: 1, model: "m", platform: "cli", toolCount: 0 })
  host.queueSync({ user: "hi", assistant: "hello", messages: MESSAGES })
  host.onMemoryWrite({ action: "add", target: "user", content: "c" })
  host.onDelegation("task", "result", { childSessionId: "child" })
  host.onSessionSwitch("s2", { reset: true, rewound: false })
}

describe("a working memory provider", () => {
  test("receives all calls in order, without what Hermes added for the model", async () => {
    const calls: unknown[] = []
    const record =
      (name: string) =>
      (...args: unknown[]): void =>
        void calls.push([name, ...args.map((arg) => JSON.parse(JSON.stringify(arg)))])
    const recordLater =
      (name: string) =>
      async (...args: unknown[]): Promise<void> => {
        await Promise.resolve()
        record(name)(...args)
      }
    const { host, time, logged } = await started({
      initialize: recordLater("initialize"),
      syncTurn: recordLater("syncTurn"),
      queuePrefetch: record("queuePrefetch"),
      onTurnStart: record("onTurnStart"),
      onMemoryWrite: record("onMemoryWrite"),
      onDelegation: record("onDelegation"),
      onSessionSwitch: record("onSessionSwitch"),
      onSessionEnd: recordLater("onSessionEnd"),
      shutdown: recordLater("shutdown"),
    })
    callEverything(host)
    host.onMemoryWrite({ action: "remove", target: "memory", oldText: "o" })
    await time.taken(host.close({ messages: MESSAGES }))
    await time.taken(host.close({ messages: MESSAGES }))
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: "\nhello" },
    ]
    expect(calls).toEqual([
      ["initialize", CONTEXT, { signal: {} }],
      ["onTurnStart", 1, "hi", { remainingTokens: 1, model: "m", platform: "cli", toolCount: 0 }],
      ["syncTurn", "hi", "hello", { sessionId: "s1", signal: {}, messages }],
      ["queuePrefetch", "hi", { sessionId: "s1", signal: {} }],
      ["onMemoryWrite", "add", "user", "c", { sessionId: "s1" }],
      ["onDelegation", "task", "result", { childSessionId: "child" }],
      ["onSessionSwitch", "s2", { reset: true, rewound: false }],
      ["onMemoryWrite", "remove", "memory", "o", { sessionId: "s2" }],
      ["onSessionEnd", messages, { sessionId: "s2", signal: {} }],
      ["shutdown"],
    ])
    expect([logged, time.sleepers()]).toEqual([[], 0])
  })

  test("has its recalled text fenced, and all its text bounded and without fences", async () => {
    const { host, time } = await started({
      systemPromptBlock: () => `block</memory-context>${"x".repeat(5000)}`,
      prefetch: (query, { sessionId }) => Promise.resolve(`${sessionId} about ${query}</memory-context>`),
      onPreCompress: (messages) => Promise.resolve(` keep ${messages.length} `),
    })
    expect(host.promptBlock()).toBe(`block${"x".repeat(3991)} […]`)
    expect(await time.taken(host.prefetch("tea<memory-context>x</memory-context>"))).toEqual({
      ms: 0,
      value: fenceMemory("s1 about tea"),
    })
    expect(await time.taken(host.onPreCompress(MESSAGES))).toEqual({ ms: 0, value: "keep 2" })
  })

  test("is not written to by sessions that are not primary", async () => {
    const calls: string[] = []
    const { host, time } = await started(
      {
        syncTurn: () => Promise.resolve(void calls.push("syncTurn")),
        queuePrefetch: () => void calls.push("queuePrefetch"),
        onMemoryWrite: () => void calls.push("onMemoryWrite"),
        onDelegation: () => void calls.push("onDelegation"),
        onSessionSwitch: () => void calls.push("onSessionSwitch"),
        onSessionEnd: () => Promise.resolve(void calls.push("onSessionEnd")),
      },
      { context: { ...CONTEXT, agentContext: "cron" } },
    )
    callEverything(host)
    await time.taken(host.close({ messages: MESSAGES }))
    expect(calls).toEqual(["queuePrefetch", "onSessionSwitch"])
  })
})

describe("a slow prefetch", () => {
  test("returns its result the next time, and only once", async () => {
    const slow = Promise.withResolvers<string>()
    const queries: string[] = []
    const { host, time } = await started({
      prefetch: (query) => {
        queries.push(query)
        return queries.length === 1 ? slow.promise : Promise.resolve(`about ${query}`)
      },
    })
    expect(await time.taken(host.prefetch("one"))).toEqual({ ms: 3000, value: "" })
    expect(await time.taken(host.prefetch("two"))).toEqual({ ms: 0, value: "" })
    slow.resolve("late")
    await time.settle()
    expect(await time.taken(host.prefetch("three"))).toEqual({ ms: 0, value: fenceMemory("late\n\nabout three") })
    expect(await time.taken(host.prefetch("four"))).toEqual({ ms: 0, value: fenceMemory("about four") })
    expect(queries).toEqual(["one", "three", "four"])
  })
})

const hangs = (): Promise<never> => new Promise(() => undefined)
const throws = (): never => {
  throw new Error("broken")
}
const rejects = (): Promise<never> => Promise.reject(new Error("broken"))

describe("a memory provider that", () => {
  test.each<{ how: string; start: Partial<MemoryProvider>; bad: () => never | Promise<never>; recallMs: number }>([
    { how: "hangs from the start", start: { initialize: hangs }, bad: hangs, recallMs: 0 },
    { how: "hangs in every method", start: {}, bad: hangs, recallMs: 3000 },
    { how: "throws in every method", start: {}, bad: throws, recallMs: 0 },
    { how: "rejects in every method", start: {}, bad: rejects, recallMs: 0 },
  ])("$how delays a turn by at most 3 s and the end by at most 6 s", async ({ start, bad, recallMs }) => {
    // Synchronous hooks may return a promise despite their type.
    const hooks = ["queuePrefetch", "onTurnStart", "onMemoryWrite", "onDelegation", "onSessionSwitch"]
    const { host, time } = bench({
      ...start,
      ...Object.fromEntries(hooks.map((name) => [name, bad])),
      systemPromptBlock: throws,
      prefetch: bad,
      syncTurn: bad,
      toolSchemas: throws,
      onPreCompress: bad,
      onSessionEnd: bad,
      shutdown: bad,
    })
    expect((await time.taken(host.initialize())).ms).toBeLessThanOrEqual(3000)
    expect(host.tools).toEqual([])
    expect(await time.taken(host.prefetch("one"))).toEqual({ ms: recallMs, value: "" })
    callEverything(host)
    expect(await time.taken(host.prefetch("two"))).toEqual({ ms: 0, value: "" })
    expect((await time.taken(host.onPreCompress(MESSAGES))).ms).toBeLessThanOrEqual(5000)
    expect((await time.taken(host.drain())).ms).toBeLessThanOrEqual(5000)
    expect((await time.taken(host.close({ messages: MESSAGES }))).ms).toBeLessThanOrEqual(6000)
    await time.settle()
    expect(time.sleepers()).toBe(0)
    callEverything(host)
    expect(await host.prefetch("three")).toBe("")
  })

  test("hangs once does not block later calls", async () => {
    const synced: string[] = []
    const { host, time, logged } = await started({
      syncTurn: (user) => (user === "one" ? hangs() : Promise.resolve(void synced.push(user))),
    })
    for (const user of ["one", "two"]) host.queueSync({ user, assistant: "", messages: [] })
    await time.taken(host.drain())
    expect(synced).toEqual([])
    for (let round = 0; round < 6; round += 1) await time.taken(host.drain())
    expect([synced, logged]).toEqual([["two"], ["memory provider notes: syncTurn timed out"]])
  })

  test("starts late gets the calls made meanwhile", async () => {
    const starting = Promise.withResolvers<undefined>()
    const synced: string[] = []
    const { host, time } = bench({
      initialize: async () => await starting.promise,
      prefetch: () => Promise.resolve("fact"),
      syncTurn: (user) => Promise.resolve(void synced.push(user)),
    })
    expect(await time.taken(host.initialize())).toEqual({
      ms: 3000,
      value: { kind: "late", message: "the memory provider notes has not started within 3 s" },
    })
    host.queueSync({ user: "one", assistant: "", messages: [] })
    expect([await host.prefetch("x"), synced]).toEqual(["", []])
    starting.resolve(undefined)
    await time.settle()
    expect([await host.prefetch("x"), synced]).toEqual([fenceMemory("fact"), ["one"]])
  })

  test.each<[how: string, Partial<MemoryProvider>, unknown]>([
    [
      "is not configured",
      { isAvailable: () => false },
      {
        kind: "unavailable",
        message: "the memory provider notes is not configured. Run `hermes memory setup` or `hermes memory off`",
      },
    ],
    ["fails to report its availability", { isAvailable: throws }, expect.objectContaining({ kind: "unavailable" })],
    [
      "fails to start",
      { initialize: rejects },
      { kind: "failed", message: "the memory provider notes failed to start: broken" },
    ],
  ])("%s is not called", async (_case, memoryProvider, start) => {
    const calls: string[] = []
    const { host, time, logged } = bench({
      toolSchemas: () => [{ name: "recall", description: "d", parameters: {} }],
      ...memoryProvider,
      systemPromptBlock: () => (calls.push("systemPromptBlock"), "x"),
      prefetch: () => (calls.push("prefetch"), Promise.resolve("x")),
      syncTurn: () => Promise.resolve(void calls.push("syncTurn")),
      onTurnStart: () => void calls.push("onTurnStart"),
      shutdown: () => Promise.resolve(void calls.push("shutdown")),
    })
    expect((await time.taken(host.initialize())).value).toEqual(start)
    expect([host.tools, logged.filter((line) => line.startsWith("!")).length]).toEqual([[], 1])
    callEverything(host)
    expect([await host.prefetch("x"), await host.onPreCompress([])]).toEqual(["", ""])
    await time.taken(host.close({ messages: [] }))
    expect(calls).toEqual([])
  })

  test("has too much queued work loses the oldest", async () => {
    const synced: string[] = []
    const { host, time, logged } = await started({
      syncTurn: (user) => Promise.resolve(void synced.push(user)),
    })
    for (let index = 0; index < 60; index += 1) host.queueSync({ user: `${index}`, assistant: "", messages: [] })
    await time.taken(host.drain())
    expect([synced[0], synced.length]).toEqual(["10", 50])
    expect(logged[0]).toBe("memory provider notes: syncTurn was dropped, because the queue is full")
  })
})

describe("tools of a memory provider", () => {
  const tool = (name: string) => ({ name, description: "d", parameters: { type: "object" } })

  test("are accepted unless their name is taken or they are invalid", () => {
    const { host, logged } = bench(
      { toolSchemas: () => [tool("recall"), tool("memory"), tool("recall"), tool("bad name"), { name: "x" } as never] },
      { takenToolNames: new Set(["memory"]) },
    )
    expect(host.tools.map(({ definition }) => definition)).toEqual([tool("recall")])
    expect(logged).toEqual([
      "! memory provider notes: ignored its tool memory, because the name is taken",
      "! memory provider notes: ignored its tool recall, because the name is taken",
      "! memory provider notes: ignored a tool without name, description and parameters",
      "! memory provider notes: ignored a tool without name, description and parameters",
    ])
  })

  test("return text, or an error that the model can act on", async () => {
    const { host, time } = await started({
      toolSchemas: () => ["good", "bad", "slow"].map(tool),
      handleTool: (name, args) =>
        name === "good" ? Promise.resolve(JSON.stringify(args)) : name === "bad" ? rejects() : hangs(),
    })
    const signal = new AbortController().signal
    const results = []
    for (const each of host.tools) results.push(await time.taken(each.run({ a: 1 }, { signal })))
    expect(results).toEqual([
      { ms: 0, value: '{"a":1}' },
      { ms: 0, value: '{"error":"bad failed: broken"}' },
      { ms: 30_000, value: '{"error":"slow timed out; continue without it"}' },
    ])
    const stop = new AbortController()
    const interrupted = host.tools[2]!.run({}, { signal: stop.signal })
    stop.abort()
    expect((await time.taken(interrupted)).ms).toBe(0)
    await time.taken(host.close({ messages: [] }))
    expect(await host.tools[0]!.run({}, { signal })).toBe(
      '{"error":"the memory provider notes is not ready; continue without it"}',
    )
  })

  test("without a handler return an error", async () => {
    const { host } = await started({ toolSchemas: () => [tool("recall")] })
    expect(await host.tools[0]!.run({}, { signal: new AbortController().signal })).toBe(
      '{"error":"the memory provider notes cannot run recall"}',
    )
  })
})
