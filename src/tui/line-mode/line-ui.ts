import type { App } from "../../app/app.ts"
import type { Session } from "../../app/session/session.ts"
import { systemClock } from "../../base/clock.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { raiseHangup } from "../../terminal/stop-signal.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import type { ChatUi, CommandUi, TurnUi } from "../chat-ui.ts"
import { openPromptHistory } from "../prompt-history.ts"
import { openLineReader } from "./line-reader.ts"
import type { LineReader } from "./line-reader.ts"
import { askAboutPlan } from "./plan-prompt.ts"
import { createProgressLine } from "./progress-line.ts"
import { createQuestions } from "./questions.ts"
import { withDisplaySettings } from "./turn-display.ts"
import { createTurnView } from "./turn-view.ts"

/** The Python edition uses the same file. */
const HISTORY_FILE = ".hermes_history"

const PROMPT = "\nyou> "

/** Shows a conversation line by line: for dumb terminals, narrow windows and screen readers. */
export function openLineUi(options: {
  readonly app: App
  readonly terminal: Terminal
  readonly signal: AbortSignal
}): ChatUi {
  const { app, terminal, signal } = options
  // A question asked before the conversation has unreferenced standard input, which would let the process exit.
  const lines = openLineReader({
    input: process.stdin.ref(),
    terminal,
    signal,
    history: openPromptHistory({
      path: app.home.file(HISTORY_FILE),
      redact: (text) => app.redactor.redact(text, { force: true }),
      clock: app.clock,
      failed: (error) => terminal.errLine(`The prompt history is not saved: ${explainSystemError(error)}.`),
    }),
    hungUp: raiseHangup,
    now: () => systemClock.now(),
  })
  return {
    opened: (session, reason) => {
      if (reason === "start") terminal.line(banner(session))
    },
    next: (wake) => lines.next(PROMPT, wake),
    whileBusy: (listener) => {
      lines.whileBusy(listener)
    },
    putBack: (typed) => {
      lines.putBack(typed)
    },
    returnToDraft: (text) => {
      lines.returnToDraft(text)
    },
    showMessage: (text) => {
      terminal.styledLine((terminal.color ? "\n\u{1B}[1;36myou>\u{1B}[0m " : PROMPT) + plainText(text))
    },
    line: (text) => {
      terminal.line(text)
    },
    errLine: (text) => {
      terminal.errLine(text)
    },
    openTurn: (session) => openLineTurn(session, { app, terminal, lines }),
    openCommand: (name, cancelled) => openLineCommand(name, { terminal, lines, signal: cancelled }),
    answerPlan: (session, plan, view) =>
      askAboutPlan(session, { plan, ask: lines.answer, columns: () => terminal.columns, ...view }),
    close: () => {
      lines.close()
    },
  }
}

function banner(session: Session): string {
  const { facts } = session
  const modelText =
    facts.provider === "demo" ? `${facts.model} (demo, not an AI)` : `${facts.model} (${facts.provider})`
  return [
    `Hermes · ${modelText} · ${facts.cwd}`,
    facts.resumed ? continuing(session) : "Type a message, or /help.",
  ].join("\n")
}

function continuing({ id, facts }: Session): string {
  const ending = facts.endsInterrupted ? " The last reply was interrupted." : ""
  const moved = facts.movedFrom === undefined ? "" : ` It was in ${facts.movedFrom} before.`
  return `Continuing ${id} with ${facts.messages} messages.${ending}${moved}`
}

function openLineTurn(
  session: Session,
  { app, terminal, lines }: { readonly app: App; readonly terminal: Terminal; readonly lines: LineReader },
): TurnUi {
  const view = withDisplaySettings(createTurnView({ terminal, progress: "stdout" }), app.config, terminal)
  const questions = createQuestions({
    session,
    ask: lines.answer,
    columns: () => terminal.columns,
    show: (event) => {
      view.event(event)
    },
    note: (text) => {
      view.note(text)
    },
  })
  return {
    event: (event) => {
      questions.handle(event)
    },
    note: (text) => {
      view.note(text)
    },
    setDraft: (text) => {
      view.setDraft(text)
    },
    end: async (end) => {
      await questions.finish()
      view.end(end)
    },
    close: () => {
      view.close()
    },
  }
}

function openLineCommand(
  name: string,
  {
    terminal,
    lines,
    signal,
  }: { readonly terminal: Terminal; readonly lines: LineReader; readonly signal: AbortSignal },
): CommandUi {
  const progress = createProgressLine(terminal, () => systemClock.now())
  const activity = `Running ${name}`
  progress.set(activity)
  return {
    confirm: async (question) => {
      progress.set(undefined)
      const answer = await lines.answer(`${question} [y/N] `, { secret: false, signal })
      progress.set(activity)
      return /^\s*y(?:es)?\s*$/iu.test(answer ?? "")
    },
    note: (text) => {
      terminal.line(text)
    },
    setDraft: (text) => {
      progress.setDraft(text)
    },
    close: () => {
      progress.stop()
    },
  }
}
