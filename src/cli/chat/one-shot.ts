import { assertNever } from "../../base/assert-never.ts"
import { asSentence } from "../../base/sentence.ts"
import { epochSeconds, systemClock } from "../../base/clock.ts"
import type { Session } from "../../app/session/session.ts"
import type { Config } from "../../config/load-config.ts"
import type { RunEnd } from "../../protocol/events.ts"
import type { UserInput } from "../../protocol/message.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import type { ChatMode } from "./chat-options.ts"
import type { LiveEvent } from "../../tui/chat-ui.ts"
import type { Questions } from "../../tui/line-mode/questions.ts"

export interface OneShotOptions {
  readonly session: Session
  readonly config: Pick<Config, "get">
  readonly terminal: Terminal
  readonly mode: Exclude<ChatMode, "conversation">
  readonly signal: AbortSignal
  readonly version: string
  readonly deltas: boolean
  /** How long an interrupted run may take to end before the process exits without waiting for it. */
  readonly graceMs: number
}

/** Runs one prompt, prints the answer and returns the exit code. */
export async function runOneShot(input: UserInput, options: OneShotOptions): Promise<number> {
  const { session, terminal, mode } = options
  const output = await createOutput(options)
  const reader = new AbortController()
  const signal = AbortSignal.any([options.signal, reader.signal])
  const questions = await questionsFor(output, options)
  const end = await withGrace(options, async () => {
    let last: RunEnd | undefined
    for await (const event of session.run(input, { signal })) {
      if (event.type === "run-end") last = event
      else questions.handle(event)
      // The reader of standard output has gone, so nothing would see the rest of the run.
      if (terminal.closed && mode !== "script" && mode !== "answer-only") reader.abort()
    }
    await questions.finish()
    return last
  })
  return output.end(end)
}

/** Scripts and programs are never asked, even on a terminal: their session is unattended and decides without a user. */
async function questionsFor(output: Output, { session, terminal, mode }: OneShotOptions): Promise<Questions> {
  const asks = terminal.stdinIsTty && (mode === "query" || mode === "answer-only")
  const show = (event: LiveEvent): void => {
    output.event(event)
  }
  if (!asks) return { handle: show, finish: () => Promise.resolve() }
  const { createQuestions } = await import("../../tui/line-mode/questions.ts")
  return createQuestions({
    session,
    ask: (question, how) => terminal.ask(question, how),
    columns: () => terminal.columns,
    show,
    note: (text) => {
      terminal.errLine(text)
    },
  })
}

/** Gives an interrupted run `graceMs` to end. Resolves with undefined when it takes longer. */
async function withGrace(options: OneShotOptions, run: () => Promise<RunEnd | undefined>): Promise<RunEnd | undefined> {
  const { promise: timedOut, resolve } = Promise.withResolvers<undefined>()
  let timer: NodeJS.Timeout | undefined
  const onAbort = (): void => {
    timer = setTimeout(() => {
      resolve(undefined)
    }, options.graceMs)
  }
  options.signal.addEventListener("abort", onAbort, { once: true })
  try {
    return await Promise.race([run(), timedOut])
  } finally {
    clearTimeout(timer)
    options.signal.removeEventListener("abort", onAbort)
  }
}

/**
 * A warning or notice, for example that an image was left out or that another model answers. One about discarded text concerns only a
 * reader who saw that text.
 */
function isForUser(event: LiveEvent): event is LiveEvent & { readonly text: string } {
  if (event.type !== "status") return false
  return (
    event.kind === "warning" || event.kind === "fallback" || (event.kind === "notice" && event.discardsText !== true)
  )
}

interface Output {
  event(event: LiveEvent): void
  end(end: RunEnd | undefined): Promise<number>
}

/** Each mode loads only its own code, to keep the start of a script fast. */
async function createOutput(options: OneShotOptions): Promise<Output> {
  switch (options.mode) {
    case "script":
      return answerOutput(options, { prefix: "hermes -z: ", printsSession: false })
    case "answer-only":
      return answerOutput(options, { prefix: "Error: ", printsSession: true })
    case "query":
      return await queryOutput(options)
    case "json":
      return jsonOutput(options)
    case "stream-json":
      return await streamOutput(options)
    default:
      return assertNever(options.mode)
  }
}

function answerOutput(
  { terminal, session }: OneShotOptions,
  how: { readonly prefix: string; readonly printsSession: boolean },
): Output {
  const say = (text: string): void => {
    terminal.errLine(asSentence(text))
  }
  let plan: string | undefined
  return {
    event: (event) => {
      if (isForUser(event)) say(event.text)
      if (event.type === "plan-ready") plan = event.text
    },
    end: (end) => {
      // A script must not take the beginning of an answer for the answer. In plan mode the answer may only announce the plan.
      const text = end === undefined || end.outcome === "interrupted" ? "" : (plan ?? end.result.finalResponse ?? "")
      if (text.trim() !== "") terminal.line(text.trimEnd())
      for (const note of end?.result.notes ?? []) say(note)
      if (how.printsSession) printSessionId(session, terminal)
      const code = exitCode(end)
      // The reason of a partial answer was printed as a warning.
      if (code === 1 && end?.result.partial !== true)
        terminal.errLine(`${how.prefix}${end?.result.error?.message ?? "the model returned no answer"}`)
      return Promise.resolve(code)
    },
  }
}

async function queryOutput({ terminal, session, config }: OneShotOptions): Promise<Output> {
  const [{ createTurnView }, { configuredDisplay, withDisplaySettings }] = await Promise.all([
    import("../../tui/line-mode/turn-view.ts"),
    import("../../tui/line-mode/turn-display.ts"),
  ])
  const view = withDisplaySettings(
    createTurnView({ terminal, progress: "stderr" }),
    configuredDisplay(config, terminal),
  )
  return {
    event: (event) => {
      view.event(event)
    },
    end: (end) => {
      view.end(end)
      printSessionId(session, terminal)
      return Promise.resolve(exitCode(end))
    },
  }
}

function jsonOutput({ terminal, session }: OneShotOptions): Output {
  return {
    // Standard output contains only the JSON object, so warnings go to stderr.
    event: (event) => {
      if (isForUser(event)) terminal.errLine(asSentence(event.text))
    },
    end: async (end) => {
      terminal.line(JSON.stringify(await payload(end, session)))
      return exitCode(end)
    },
  }
}

async function streamOutput({ terminal, session, version, deltas }: OneShotOptions): Promise<Output> {
  const { createStreamJson } = await import("./stream-json.ts")
  const linesOf = createStreamJson({ version, deltas })
  let seq = 0
  const write = (line: { readonly type: string; readonly [field: string]: unknown }): void => {
    const { type, ...fields } = line
    terminal.line(JSON.stringify({ v: 1, seq, ts: epochSeconds(systemClock), type, session_id: session.id, ...fields }))
    seq += 1
  }
  return {
    event: (event) => {
      for (const line of linesOf(event)) write(line)
    },
    end: async (end) => {
      if (end?.result.error !== undefined) write({ type: "error", ...end.result.error })
      write({ type: "result", ...(await payload(end, session)) })
      return exitCode(end)
    },
  }
}

async function payload(end: RunEnd | undefined, session: Session): Promise<Record<string, unknown>> {
  // A program may resume every session that it gets an id of.
  const stored = { session_id: session.isStored ? session.id : null }
  if (end === undefined) return { status: "interrupted", final_text: null, ...stored }
  const { resultPayload } = await import("./stream-json.ts")
  return { ...resultPayload(end, await session.title()), ...stored }
}

function printSessionId(session: Session, terminal: Terminal): void {
  if (session.isStored) terminal.errLine(`session_id: ${session.id}`)
}

function exitCode(end: RunEnd | undefined): number {
  if (end === undefined || end.outcome === "interrupted") return 130
  // A script must not take a part of an answer for the whole.
  if (end.outcome === "error" || end.result.partial === true) return 1
  return (end.result.finalResponse ?? "").trim() === "" ? 1 : 0
}
