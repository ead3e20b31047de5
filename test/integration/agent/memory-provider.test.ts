import { setImmediate as nextTick } from "node:timers/promises"

import { expect, test } from "vitest"

import { createApp } from "../../../src/app/app.ts"
import { systemClock } from "../../../src/base/clock.ts"
import type { Clock } from "../../../src/base/clock.ts"
import { createLogger } from "../../../src/base/logger.ts"
import { createRedactor } from "../../../src/base/redact.ts"
import { environmentFrom } from "../../../src/config/environment.ts"
import { ensureHome, resolveHome } from "../../../src/config/home.ts"
import { loadConfig } from "../../../src/config/load-config.ts"
import type { MemoryProvider } from "../../../src/knowledge/memory/memory-provider.ts"
import type { SessionId } from "../../../src/protocol/identifiers.ts"
import { startModelServer } from "../../support/model-server/server.ts"
import type { ModelServer } from "../../support/model-server/server.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { manualClock } from "../../support/manual-clock.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import { runToEnd } from "../assembled-app.ts"

/** A clock that advances only while work within the limit is awaited; longer work times out. */
function patientClock() {
  const clock = manualClock()
  return {
    clock,
    /** Returns the result of the work if it takes no more than this time. */
    within: async <T>(limitMs: number, work: Promise<T>): Promise<T> => {
      const end = clock.now() + limitMs
      const state = { done: false }
      const watched = work.finally(() => {
        state.done = true
      })
      watched.catch(() => undefined)
      while (!state.done) {
        const next = clock.nextWakeTime()
        if (next !== undefined && next <= end) await clock.advance(Math.max(0, next - clock.now()))
        await nextTick()
      }
      return await watched
    },
  }
}

const never = <T>(): Promise<T> => new Promise<T>(() => undefined)

const HANGING: MemoryProvider = {
  name: "elephant",
  isAvailable: () => true,
  initialize: () => Promise.resolve(),
  toolSchemas: () => [],
  prefetch: () => never(),
  syncTurn: () => never(),
  onPreCompress: () => never(),
  onSessionEnd: () => never(),
  shutdown: () => never(),
}

/** An app with an external memory provider. */
async function appWith(model: ModelServer, provider: MemoryProvider, clock: Clock) {
  const temporary = await temporaryHome({
    config: `model:\n  base_url: ${model.url}/v1\n  default: test-model\nmemory:\n  provider: elephant\n`,
  })
  const environment = environmentFrom(temporary.env)
  const home = resolveHome(environment)
  ensureHome(home, environment)
  const redactor = createRedactor({ enabled: true, secrets: [] })
  const log = createLogger({ sinks: [], clock, redact: (line) => line })
  const config = await loadConfig({ home, environment })
  const app = createApp({
    config,
    environment,
    home,
    clock,
    log,
    redactor,
    version: "0.0.0-test",
    memoryProviders: [provider],
  })
  const chosen = app.chooseModel({})
  if (!chosen.ok) throw new Error(chosen.error.message)
  return {
    app,
    open: async (resume?: SessionId) => {
      const opened = await app.openSession({
        model: chosen.value,
        cwd: temporary.workdir,
        origin: { surface: "cli", attended: () => true },
        permissionProfile: "default",
        ...(resume === undefined ? {} : { resume }),
      })
      if (!opened.ok) throw new Error(opened.error)
      return opened.value
    },
    async [Symbol.asyncDispose]() {
      await app.close()
      await temporary[Symbol.asyncDispose]()
    },
  }
}

test("a memory provider that hangs in every method delays a turn by at most 3 s and the end of a session by 6 s", async () => {
  const { clock, within } = patientClock()
  await using model = await startModelServer([says("One."), says("Two.")])
  await using assembled = await appWith(model, HANGING, clock)
  const session = await within(0, assembled.open())
  expect((await within(3000, runToEnd(session, "first"))).end.result.finalResponse).toBe("One.")
  // The first recall still runs, so no other one is awaited.
  expect((await within(0, runToEnd(session, "second"))).end.result.finalResponse).toBe("Two.")
  await within(6000, session.close("test"))
})

test("a memory provider that does not start delays the opening by 3 s and no turn", async () => {
  const { clock, within } = patientClock()
  await using model = await startModelServer([says("One.")])
  await using assembled = await appWith(model, { ...HANGING, initialize: () => never() }, clock)
  const session = await within(3000, assembled.open())
  expect((await within(0, runToEnd(session, "first"))).end.result.finalResponse).toBe("One.")
  await within(6000, session.close("test"))
})

test("a memory provider that throws in every method has no effect", async () => {
  const broken = (): never => {
    throw new Error("elephant fell over")
  }
  const names = [
    "prefetch",
    "syncTurn",
    "onTurnStart",
    "onMemoryWrite",
    "onSessionEnd",
    "shutdown",
    "systemPromptBlock",
  ]
  const provider: MemoryProvider = { ...HANGING, ...Object.fromEntries(names.map((name) => [name, broken])) }
  await using model = await startModelServer([
    callsTool("memory", { action: "add", content: "The door is blue." }),
    says("Noted."),
  ])
  await using assembled = await appWith(model, provider, systemClock)
  const session = await assembled.open()
  const { end } = await runToEnd(session, "the door is blue")
  expect([end.outcome, end.result.finalResponse]).toEqual(["completed", "Noted."])
  await session.close("test")
})

test("recalled text is sent and stored with the user's message, but is not part of its text", async () => {
  const synced: string[] = []
  const written: unknown[] = []
  const provider: MemoryProvider = {
    name: "elephant",
    isAvailable: () => true,
    initialize: () => Promise.resolve(),
    toolSchemas: () => [],
    systemPromptBlock: () => "The elephant remembers.",
    prefetch: (query) => Promise.resolve(`known about: ${query}`),
    syncTurn: (user, assistant, { messages }) => {
      synced.push(user, assistant, JSON.stringify(messages).includes("known about") ? "leaked" : "clean")
      return Promise.resolve()
    },
    onMemoryWrite: (action, target, content) => {
      written.push([action, target, content])
    },
  }
  await using model = await startModelServer([
    callsTool("memory", { action: "add", content: "The door is blue." }),
    says("Blue."),
    says("Bye."),
  ])
  await using assembled = await appWith(model, provider, systemClock)
  const session = await assembled.open()
  await runToEnd(session, "the door")
  expect(model.view(0).system).toContain("The elephant remembers.")
  expect(model.view(0).messages[0]?.text).toMatch(
    /^the door\n\n<memory-context>\n\[[^\]]+\]\n\nknown about: the door\n<\/memory-context>$/,
  )
  const [stored] = await (await assembled.app.store()).conversation(session.id)
  expect(stored?.content).toBe("the door")
  await session.close("test")
  expect([synced, written]).toEqual([["the door", "Blue.", "clean"], [["add", "memory", "The door is blue."]]])

  const resumed = await assembled.open(session.id)
  await runToEnd(resumed, "bye")
  expect(model.requests[2]?.rawBody.startsWith(model.requests[1]?.rawBody.slice(0, -"]}".length) ?? "?")).toBe(true)
  await resumed.close("test")
})

test("its tools are offered and dispatched like others; an echo of the recalled text is removed from the answer", async () => {
  const provider: MemoryProvider = {
    ...HANGING,
    prefetch: () => Promise.resolve("the door is blue"),
    syncTurn: () => Promise.resolve(),
    onSessionEnd: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
    toolSchemas: () => [
      { name: "elephant_ask", description: "Ask the elephant.", parameters: { type: "object", properties: {} } },
    ],
    handleTool: (name, args) => Promise.resolve(JSON.stringify({ name, received: args })),
  }
  await using model = await startModelServer([
    callsTool("elephant_ask", { about: "doors" }),
    says(["<memory-context>\nthe door", " is blue\n</memory-context>\nIt is", " blue."]),
  ])
  await using assembled = await appWith(model, provider, systemClock)
  const session = await assembled.open()
  const { end, events } = await runToEnd(session, "the door?")
  expect(model.view(0).tools).toContain("elephant_ask")
  expect(model.toolResults(1)[0]?.text).toContain('{"name":"elephant_ask","received":{"about":"doors"}}')
  const shown = events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("")
  expect([shown.trim(), end.result.finalResponse?.trim()]).toEqual(["It is blue.", "It is blue."])
  await session.close("test")
})
