import type { Clock } from "../../src/base/clock.ts"
import { createLogger } from "../../src/base/logger.ts"
import { createRedactor } from "../../src/base/redact.ts"
import { createApp } from "../../src/app/app.ts"
import type { App } from "../../src/app/app.ts"
import type { OpenSessionOptions } from "../../src/app/session/session-options.ts"
import type { FacetFactory } from "../../src/app/session/facet-context.ts"
import type { Session } from "../../src/app/session/session.ts"
import { startApp } from "../../src/app/start.ts"
import { environmentFrom } from "../../src/config/environment.ts"
import { ensureHome, resolveHome } from "../../src/config/home.ts"
import { loadConfig } from "../../src/config/load-config.ts"
import type { AgentEvent, RunEnd } from "../../src/protocol/events.ts"
import type { UserInput } from "../../src/protocol/message.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"

/** The complete app below its surfaces, with a scripted model server and a temporary home. */
export interface AssembledApp extends AsyncDisposable {
  readonly app: App
  readonly home: TemporaryHome
  readonly model: ModelServer
  open(options?: Partial<OpenSessionOptions> & { readonly attended?: boolean }): Promise<Session>
  /** Closes the app and starts another one with the same home and model server, as a new process would. */
  restart(): Promise<AssembledApp>
}

export interface AssembleOptions {
  /** YAML that is appended to the `model` section. */
  readonly config?: string
  readonly env?: Readonly<Record<string, string>>
  /** Files below the Hermes home by relative path. */
  readonly files?: Readonly<Record<string, string>>
  /** Files below the working directory by relative path. */
  readonly workFiles?: Readonly<Record<string, string>>
  /** Path of the model's base URL, `/v1` by default. */
  readonly basePath?: string
  readonly model?: string
  /** Capabilities added to each session. */
  readonly facets?: readonly FacetFactory[]
  /** Replaces the system clock. The app then writes no log files. */
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
  return await assemble({ home, model, clock: options.clock, facets: options.facets ?? [], release: [model, home] })
}

async function assemble(parts: {
  readonly home: TemporaryHome
  readonly model: ModelServer
  readonly clock: Clock | undefined
  readonly facets: readonly FacetFactory[]
  readonly release: readonly AsyncDisposable[]
}): Promise<AssembledApp> {
  const { home, model, clock, facets } = parts
  const app = clock === undefined ? await startedApp(home, facets) : await appWithClock(home, clock)
  const sessions: Session[] = []
  return {
    app,
    home,
    model,
    open: async ({ attended = true, ...options } = {}) => {
      const chosen = app.chooseModel({})
      if (!chosen.ok) throw new Error(chosen.error.message)
      const opened = await app.openSession({
        model: chosen.value,
        cwd: home.workdir,
        origin: { surface: "cli", attended: () => attended },
        permissionProfile: "default",
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

async function startedApp(home: TemporaryHome, facets: readonly FacetFactory[]): Promise<App> {
  const environment = environmentFrom(home.env)
  return (await startApp({ home: resolveHome(environment), environment, version: "0.0.0-test", facets })).app
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

/** Runs one prompt to its end. `on` receives each event, and the run waits until it returns. */
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
  if (end?.type !== "run-end") throw new Error(`the run ended with ${end?.type ?? "no event"} instead of run-end`)
  if (events.filter(({ type }) => type === "run-end").length !== 1)
    throw new Error("the run emitted more than one run-end")
  if (events.some(({ seq }, index) => seq !== index)) throw new Error("the sequence numbers of the events have gaps")
  return { events, end }
}

/** Lists the types of the events, reduced to the wanted types. */
export function typesOf({ events }: RunRecord, ...wanted: readonly AgentEvent["type"][]): readonly string[] {
  return events.filter(({ type }) => wanted.includes(type)).map(({ type }) => type)
}
