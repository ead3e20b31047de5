import { setImmediate as nextTick } from "node:timers/promises"

import { expect, test } from "vitest"

import { createApp } from "../../../src/app/app.ts"
import { systemClock } from "../../../src/base/clock.ts"
import type { Clock } from "../../../src/base/clock.ts"
import { createLogger } from "../../../src/base/logger.ts"
import { createRedactor } from "../../../src/base/redact.ts"
import { environmentFrom } from "../../../src/config/environment.ts"
import { ensureHome, resolveHome } from "../../../src/config/home.ts"
import { loadConfig } from "../../../src/config/load.ts"
import type { MemoryProvider } from "../../../src/knowledge/memory/memory-provider.ts"
import type { SessionId } from "../../../src/protocol/identifiers.ts"
import { startModelServer } from "../../support/model-server/server.ts"
import type { ModelServer } from "../../support/model-server/server.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { manualClock } from "../../support/manual-clock.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import { runToEnd } from "../assembled-app.ts"

/** Time passes only while something within the limit is waited for; what takes longer is waited for in vain. */
function patientClock() {
  const clock = manualClock()
  return {
    clock,
    /** Gives what the work gives, if it needs no more than this time. */
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

/** An app with a memory of its own beside the files of its home. */
async function appWith(model: ModelServer, provider: MemoryProvider, clock: Clock) {
  const home = await temporaryHome({
    config: `model:\n  base_url: ${model.url}/v1\n  default: test-model\nmemory:\n  provider: elephant\n`,
  })
  const environment = environmentFrom(home.env)
  const place = resolveHome(environment)
  ensureHome(place, environment)
  const redactor = createRedactor({ enabled: true, secrets: [] })
  const log = createLogger({ sinks: [], clock, redact: (line) => line })
  const config = await loadConfig({ home: place, environment })
  const app = createApp({
    config,
    environment,
    home: place,
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
        cwd: home.workdir,
        origin: { surface: "cli", attended: () => true },
        permissionProfile: "default",
        ...(resume === undefined ? {} : { resume }),
      })
      if (!opened.ok) throw new Error(opened.error)
      return opened.value
    },
    async [Symbol.asyncDispose]() {
      await app.close()
      await home[Symbol.asyncDispose]()
    },
  }
}

test("a provider that hangs in every method costs a turn 3 s and the end of a session 6 s at most", async () => {
  const { clock, within } = patientClock()
  await using model = await startModelServer([says("One."), says("Two.")])
  await using house = await appWith(model, HANGING, clock)
  const session = await within(0, house.open())
  expect((await within(3000, runToEnd(session, "first"))).end.result.finalResponse).toBe("One.")
  // The first question is still being answered, so no other one waits.
  expect((await within(0, runToEnd(session, "second"))).end.result.finalResponse).toBe("Two.")
  await within(6000, session.close("test"))
})

test("a provider that does not even start delays the opening by 3 s and no turn at all", async () => {
  const { clock, within } = patientClock()
  await using model = await startModelServer([says("One.")])
  await using house = await appWith(model, { ...HANGING, initialize: () => never() }, clock)
  const session = await within(3000, house.open())
  expect((await within(0, runToEnd(session, "first"))).end.result.finalResponse).toBe("One.")
  await within(6000, session.close("test"))
})

test("a provider that throws in every method is as if there were none", async () => {
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
  await using house = await appWith(model, provider, systemClock)
  const session = await house.open()
  const { end } = await runToEnd(session, "the door is blue")
  expect([end.outcome, end.result.finalResponse]).toEqual(["completed", "Noted."])
  await session.close("test")
})

test("what it recalls goes with the person's words, is kept with them, and is not part of them", async () => {
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
  await using house = await appWith(model, provider, systemClock)
  const session = await house.open()
  await runToEnd(session, "the door")
  expect(model.view(0).system).toContain("The elephant remembers.")
  expect(model.view(0).messages[0]?.text).toMatch(
    /^the door\n\n<memory-context>\n\[[^\]]+\]\n\nknown about: the door\n<\/memory-context>$/,
  )
  const [stored] = await (await house.app.store()).conversation(session.id)
  expect(stored?.content).toBe("the door")
  await session.close("test")
  expect([synced, written]).toEqual([["the door", "Blue.", "clean"], [["add", "memory", "The door is blue."]]])

  const resumed = await house.open(session.id)
  await runToEnd(resumed, "bye")
  expect(model.requests[2]?.rawBody.startsWith(model.requests[1]?.rawBody.slice(0, -"]}".length) ?? "?")).toBe(true)
  await resumed.close("test")
})

test("its tools are offered and pass the same door; an echo of what it recalled is taken out of the answer", async () => {
  const provider: MemoryProvider = {
    ...HANGING,
    prefetch: () => Promise.resolve("the door is blue"),
    syncTurn: () => Promise.resolve(),
    onSessionEnd: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
    toolSchemas: () => [
      { name: "elephant_ask", description: "Ask the elephant.", parameters: { type: "object", properties: {} } },
    ],
    handleTool: (name, args) => Promise.resolve(JSON.stringify({ name, heard: args })),
  }
  await using model = await startModelServer([
    callsTool("elephant_ask", { about: "doors" }),
    says(["<memory-context>\nthe door", " is blue\n</memory-context>\nIt is", " blue."]),
  ])
  await using house = await appWith(model, provider, systemClock)
  const session = await house.open()
  const { end, events } = await runToEnd(session, "the door?")
  expect(model.view(0).tools).toContain("elephant_ask")
  expect(model.toolResults(1)[0]?.text).toContain('{"name":"elephant_ask","heard":{"about":"doors"}}')
  const shown = events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("")
  expect([shown.trim(), end.result.finalResponse?.trim()]).toEqual(["It is blue.", "It is blue."])
  await session.close("test")
})
