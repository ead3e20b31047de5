import { systemClock } from "../../src/base/clock.ts"
import type { Clock } from "../../src/base/clock.ts"
import { createLogger } from "../../src/base/logger.ts"
import { createRedactor } from "../../src/base/redact.ts"
import { createApp } from "../../src/app/app.ts"
import type { App } from "../../src/app/app.ts"
import type { OpenSessionOptions } from "../../src/app/session-options.ts"
import type { Session } from "../../src/app/session.ts"
import { startApp } from "../../src/app/start.ts"
import { environmentFrom } from "../../src/config/environment.ts"
import { ensureHome, resolveHome } from "../../src/config/home.ts"
import { loadConfig } from "../../src/config/load.ts"
import type { AgentEvent, RunEnd } from "../../src/protocol/events.ts"
import type { UserInput } from "../../src/protocol/message.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"

/** The whole product below its surfaces, with a model of its own and a home that vanishes. */
export interface AssembledApp extends AsyncDisposable {
  readonly app: App
  readonly home: TemporaryHome
  readonly model: ModelServer
  open(options?: Partial<OpenSessionOptions>): Promise<Session>
  /** The same home after the process ended: another app on the same files and the same model. */
  restart(): Promise<AssembledApp>
}

export interface AssembleOptions {
  /** YAML beside the model's address. */
  readonly config?: string
  readonly env?: Readonly<Record<string, string>>
  /** Files of the Hermes home and of the working folder. */
  readonly files?: Readonly<Record<string, string>>
  readonly workFiles?: Readonly<Record<string, string>>
  /** Path of the model's address, `/v1` unless told, and its name. */
  readonly basePath?: string
  readonly model?: string
  /** Other time than the machine's; the log files are left out then. */
  readonly clock?: Clock
}

export async function assembleApp(
  script: readonly ScriptEntry[],
  options: AssembleOptions = {},
): Promise<AssembledApp> {
  const model = await startModelServer(script)
  const home = await temporaryHome({
    config: `model:\n  base_url: ${model.url}${options.basePath ?? "/v1"}\n  default: ${options.model ?? "test-model"}\n${options.config ?? ""}`,
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.files === undefined ? {} : { files: options.files }),
    ...(options.workFiles === undefined ? {} : { workFiles: options.workFiles }),
  })
  return await assemble({ home, model, clock: options.clock, release: [model, home] })
}

async function assemble(parts: {
  readonly home: TemporaryHome
  readonly model: ModelServer
  readonly clock: Clock | undefined
  readonly release: readonly AsyncDisposable[]
}): Promise<AssembledApp> {
  const { home, model, clock } = parts
  const app = clock === undefined ? await startedApp(home) : await appWithClock(home, clock)
  const sessions: Session[] = []
  return {
    app,
    home,
    model,
    open: async (options = {}) => {
      const chosen = app.chooseModel({})
      if (!chosen.ok) throw new Error(chosen.error.message)
      const opened = await app.openSession({
        model: chosen.value,
        cwd: home.workdir,
        source: "cli",
        platform: "cli",
        permissionProfile: "default",
        attended: true,
        ...options,
      })
      if (!opened.ok) throw new Error(opened.error)
      sessions.push(opened.value)
      return opened.value
    },
    restart: async () => {
      await app.close()
      return await assemble({ ...parts, release: [] })
    },
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) await session.close("test_end").catch(() => undefined)
      await app.close()
      for (const part of parts.release) await part[Symbol.asyncDispose]()
    },
  }
}

async function startedApp(home: TemporaryHome): Promise<App> {
  const environment = environmentFrom(home.env)
  return (await startApp({ home: resolveHome(environment), environment, version: "0.0.0-test" })).app
}

async function appWithClock(testHome: TemporaryHome, clock: Clock): Promise<App> {
  const environment = environmentFrom(testHome.env)
  const home = resolveHome(environment)
  ensureHome(home, environment)
  const redactor = createRedactor({ enabled: true, secrets: [] })
  const log = createLogger({ sinks: [], clock, redact: (line) => redactor.redact(line) })
  const config = await loadConfig({ home, environment })
  return createApp({ config, environment, home, clock, log, redactor, version: "0.0.0-test" })
}

export interface RunRecord {
  readonly events: readonly AgentEvent[]
  readonly end: RunEnd
}

/** Runs one prompt to its end; `on` sees each event when it happens and may be slow. */
export async function runToEnd(
  session: Session,
  input: UserInput,
  on: (event: AgentEvent) => void | Promise<void> = () => undefined,
): Promise<RunRecord> {
  const events: AgentEvent[] = []
  for await (const event of session.run(input, { signal: new AbortController().signal })) {
    events.push(event)
    await on(event)
  }
  const end = events.at(-1)
  if (end?.type !== "run-end") throw new Error(`the run did not end with run-end but with ${end?.type ?? "nothing"}`)
  if (events.filter(({ type }) => type === "run-end").length !== 1) throw new Error("the run ended more than once")
  if (events.some(({ seq }, index) => seq !== index)) throw new Error("the numbers of the events have gaps")
  return { events, end }
}

export function typesOf({ events }: RunRecord, ...wanted: readonly AgentEvent["type"][]): readonly string[] {
  return events.filter(({ type }) => wanted.includes(type)).map(({ type }) => type)
}

/** Time that only passes when the test says so. */
export interface ManualClock extends Clock {
  advance(ms: number): void
  /** When the next of those who sleep is to wake up; undefined when nobody sleeps. */
  nextWaking(): number | undefined
}

export function manualClock(): ManualClock {
  let now = systemClock.now()
  const waiting = new Set<{ readonly at: number; readonly wake: () => void }>()
  return {
    now: () => now,
    sleep: async (ms, { signal }) => {
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<undefined>()
      const entry = { at: now + ms, wake: () => resolve(undefined) }
      const stop = (): void => reject(signal.reason as Error)
      waiting.add(entry)
      signal.addEventListener("abort", stop, { once: true })
      try {
        await promise
      } finally {
        waiting.delete(entry)
        signal.removeEventListener("abort", stop)
      }
    },
    advance: (ms) => {
      now += ms
      for (const entry of waiting) if (entry.at <= now) entry.wake()
    },
    nextWaking: () => [...waiting].map(({ at }) => at).toSorted((a, b) => a - b)[0],
  }
}
