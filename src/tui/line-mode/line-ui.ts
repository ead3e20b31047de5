import type { App } from "../../app/app.ts"
import type { Session } from "../../app/session/session.ts"
import { systemClock } from "../../base/clock.ts"
import { createDisplayControl } from "../../commands/display-control.ts"
import type { DisplayControl } from "../../commands/display-control.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { raiseHangup } from "../../terminal/stop-signal.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import type { ChatUi, CommandUi, TurnUi } from "../chat-ui.ts"
import { resumeCommand } from "../conversation/resume-command.ts"
import { homeHistory } from "../prompt-history.ts"
import { openLineReader } from "./line-reader.ts"
import type { LineReader } from "./line-reader.ts"
import { askAboutPlan } from "./plan-prompt.ts"
import { createProgressLine } from "./progress-line.ts"
import { createQuestions } from "./questions.ts"
import { configuredDisplay, withDisplaySettings } from "./turn-display.ts"
import { createTurnView } from "./turn-view.ts"
import { wrapWords } from "../../terminal/word-wrap.ts"

const PROMPT = "\nyou> "

/** Shows a conversation line by line: for dumb terminals, narrow windows and screen readers. */
export function openLineUi(options: {
  readonly app: App
  readonly terminal: Terminal
  readonly signal: AbortSignal
}): ChatUi {
  const { app, terminal, signal } = options
  // As in a pipe into `head`: when the answers have no reader any more, the conversation is over.
  const unread = new AbortController()
  terminal.onClose(() => unread.abort())
  // A question asked before the conversation has unreferenced standard input, which would let the process exit.
  const lines = openLineReader({
    input: process.stdin.ref(),
    terminal,
    signal: AbortSignal.any([signal, unread.signal]),
    history: homeHistory(app, (text) => terminal.errLine(text)),
    hungUp: raiseHangup,
    now: () => systemClock.now(),
  })
  const display = createDisplayControl(app.config, { changed: () => undefined })
  return {
    display,
    duringTurn: { copy: (text) => copyToTerminal(text, terminal) },
    opened: (session, reason) => {
      if (reason === "start") terminal.line(forStdout(banner(session), terminal))
      return Promise.resolve()
    },
    outbox: [],
    next: async (wake) => {
      const line = await lines.next(PROMPT, wake)
      return typeof line === "string" ? { text: line, images: [] } : line
    },
    whileBusy: (listener) => {
      lines.whileBusy(
        listener && {
          ...listener,
          line: (text) => {
            listener.line({ text, images: [] })
          },
        },
      )
    },
    putBack: (typed) => {
      lines.putBack(typed.map(({ text }) => text))
    },
    returnToDraft: (text) => {
      lines.returnToDraft(text)
    },
    showMessage: (text) => {
      terminal.styledLine((terminal.color ? "\n\u{1B}[1;36myou>\u{1B}[0m " : PROMPT) + plainText(text))
    },
    line: (text) => {
      terminal.line(forStdout(text, terminal))
    },
    errLine: (text) => {
      terminal.errLine(text)
    },
    panel: (title, text) => {
      terminal.line(`\n── ${title} ──\n${text}\n`)
      return Promise.resolve()
    },
    redraw: () => undefined,
    startNewPage: () => {
      terminal.line("\n".repeat(Math.max(0, terminal.rows - 1)))
    },
    openTurn: (session) => openLineTurn(session, { app, terminal, lines, display }),
    openCommand: (name, cancelled) => openLineCommand(name, { terminal, lines, signal: cancelled }),
    answerPlan: (session, plan, view) =>
      askAboutPlan(session, { plan, ask: lines.answer, columns: () => terminal.columns, ...view }),
    farewell: (session) => {
      if (session.isStored) terminal.errLine(`Continue with: ${resumeCommand(session.id, app.home.profile)}`)
      return Promise.resolve()
    },
    close: () => {
      lines.close()
    },
  }
}

function forStdout(text: string, terminal: Terminal): string {
  return terminal.stdoutIsTty ? wrapWords(text, terminal.columns) : text
}

function banner(session: Session): string {
  const { facts } = session
  return [
    `Hermes · ${modelText(facts)} · ${facts.cwd}`,
    facts.resumed ? continuing(session) : "Type a message, or /help.",
  ].join("\n")
}

function modelText({ model, provider, modelProblem }: Session["facts"]): string {
  if (modelProblem !== undefined) return model
  return provider === "demo" ? `${model} (demo, not an AI)` : `${model} (${provider})`
}

function continuing({ id, facts }: Session): string {
  const ending = facts.endsInterrupted ? " The last reply was interrupted." : ""
  const moved = facts.movedFrom === undefined ? "" : ` It was in ${facts.movedFrom} before.`
  return `Continuing ${id} with ${facts.messages} messages.${ending}${moved}`
}

function openLineTurn(
  session: Session,
  {
    app,
    terminal,
    lines,
    display,
  }: {
    readonly app: App
    readonly terminal: Terminal
    readonly lines: LineReader
    readonly display: DisplayControl
  },
): TurnUi {
  const view = withDisplaySettings(createTurnView({ terminal, progress: "stdout" }), {
    ...configuredDisplay(app.config, terminal),
    toolProgress: display.get("display.tool_progress"),
    showsReasoning: display.get("display.show_reasoning"),
  })
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
    typed: (text) => {
      // What is typed during a reply is not echoed, so the complete line is shown once.
      if (text.trim() !== "") view.note(`› ${text.trim()}`)
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
  const read = async (question: string, secret: boolean): Promise<string | undefined> => {
    progress.set(undefined)
    const answer = await lines.answer(question, { secret, signal })
    progress.set(activity)
    return answer
  }
  const ask = async (question: string): Promise<string> => (await read(question, false))?.trim().toLowerCase() ?? ""
  return {
    abilities: {
      confirm: async (question) => /^y(?:es)?$/u.test(await ask(`${question} [y/N] `)),
      confirmOrAlways: async (question) => {
        const answer = await ask(`${question} [y]es, [a]lways without asking, or [N]o? `)
        if (/^a(?:lways)?$/u.test(answer)) return "always"
        return /^y(?:es)?$/u.test(answer) ? "once" : "cancel"
      },
      askSecret: (question) => read(question, true),
      copy: (text) => copyToTerminal(text, terminal),
    },
    note: (text) => {
      terminal.line(forStdout(text, terminal))
    },
    setDraft: (text) => {
      progress.setDraft(text)
    },
    close: () => {
      progress.stop()
    },
  }
}

/** The terminal puts the text on the clipboard, if it may. */
async function copyToTerminal(text: string, terminal: Terminal): Promise<string | undefined> {
  const { copySequence } = await import("../screen/notification.ts")
  const sequence = copySequence(text, { inTmux: false })
  if (terminal.live === undefined || !terminal.movesCursor) return "This terminal has no clipboard."
  if (sequence === undefined) return "The answer is too long for the clipboard of a terminal."
  terminal.live.control(sequence)
  return undefined
}
