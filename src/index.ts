import { startApp } from "./app/start.ts"
import type { App } from "./app/app.ts"
import { VERSION } from "./cli/version.ts"
import { environmentFrom, processEnvironment } from "./config/environment.ts"
import { resolveHome } from "./config/home.ts"
import { toSessionId } from "./protocol/identifiers.ts"
import type { AgentEvent, Answer } from "./protocol/events.ts"
import type { UserInput } from "./protocol/message.ts"

export type { AgentEvent, AgentEventBody, Answer, RunEnd } from "./protocol/events.ts"
export type { Message, Part, ToolCall, UserInput } from "./protocol/message.ts"
export type { Usage } from "./protocol/usage.ts"

/** A Hermes home in use: its settings, keys, memory and stored conversations. Several can be open in one process. */
export interface Hermes {
  /** What the user should know about settings and keys. */
  readonly warnings: readonly string[]
  /** Starts or resumes a conversation. Rejects with a message for the user. */
  openSession(options?: HermesSessionOptions): Promise<HermesSession>
  /** Closes the sessions too. */
  close(): Promise<void>
}

/** A conversation. One run at a time. */
export interface HermesSession {
  /** Changes when a compression continues the conversation in a child session. */
  readonly id: string
  /** One turn, as a stream of events that ends with exactly one `run-end`. */
  run(input: UserInput, options: { readonly signal: AbortSignal }): AsyncGenerator<AgentEvent, void, void>
  /** One turn; returns the final text, or "". */
  ask(input: UserInput, options: { readonly signal: AbortSignal }): Promise<string>
  /** Answers an approval or question of the running turn. Returns false when it is unknown or already answered. */
  answer(requestId: string, answer: Answer): boolean
  /** Adds a note to the running turn. Returns false for an empty note. */
  steer(text: string): boolean
  /** Ends the running turn. */
  interrupt(): void
  close(): Promise<void>
}

export interface HermesOptions {
  /** The variables to use, for example `HERMES_HOME` and keys. Default: those of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

export interface HermesSessionOptions {
  /** The directory that tools work in. Default: the working directory of this process. */
  readonly cwd?: string
  /** Default: the model of the settings. */
  readonly model?: string
  readonly provider?: string
  /** Id of a stored conversation to continue. */
  readonly resume?: string
  /** Default: the toolsets of the settings. */
  readonly toolsets?: readonly string[]
  /** For example `default` or `accept-edits`. Default: the one of the settings. */
  readonly permissionProfile?: string
  /** The program calls `answer` for approvals and questions. Otherwise they are denied, as in a script. */
  readonly answersQuestions?: boolean
}

/** Opens a Hermes home. Rejects when the home cannot be used. */
export async function openHermes(options: HermesOptions = {}): Promise<Hermes> {
  const environment = options.environment === undefined ? processEnvironment() : environmentFrom(options.environment)
  const { app, warnings } = await startApp({ home: resolveHome(environment), environment, version: VERSION })
  const sessions = new Set<HermesSession>()
  return {
    warnings,
    openSession: async (request = {}) => {
      const session = await openSession(app, request, (closed) => sessions.delete(closed))
      sessions.add(session)
      return session
    },
    close: async () => {
      for (const session of sessions) await session.close()
      await app.close()
    },
  }
}

async function openSession(
  app: App,
  { cwd, model, provider, resume, answersQuestions = false, ...options }: HermesSessionOptions,
  onClosed: (session: HermesSession) => void,
): Promise<HermesSession> {
  const chosen = app.chooseModel({
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
  })
  if (!chosen.ok) throw new Error(chosen.error.message)
  const opened = await app.openSession({
    ...options,
    model: chosen.value,
    cwd: cwd ?? process.cwd(),
    origin: { surface: "cli", source: "library", attended: () => answersQuestions },
    ...(resume === undefined ? {} : { resume: toSessionId(resume) }),
  })
  if (!opened.ok) throw new Error(opened.error)
  const session = opened.value
  let closing: Promise<void> | undefined
  const library: HermesSession = {
    get id() {
      return session.id
    },
    run: (input, request) => session.run(input, request),
    ask: (input, request) => session.ask(input, request),
    answer: (requestId, answer) => session.answer(requestId, answer),
    steer: (text) => session.steer(text),
    interrupt: () => {
      session.interrupt()
    },
    close: () => {
      onClosed(library)
      closing ??= session.close("closed")
      return closing
    },
  }
  return library
}
