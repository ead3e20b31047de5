import { createInterface } from "node:readline"
import type { Interface } from "node:readline"

import type { App } from "../../app/app.ts"
import type { Session } from "../../app/session.ts"
import { runSlashCommand } from "../../commands/slash-table.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { ApprovalRequest } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Terminal } from "../terminal.ts"
import { approvalQuestion, readChoice } from "./approval-prompt.ts"
import { createTurnView } from "./turn-view.ts"

export interface ConversationOptions {
  readonly app: App
  readonly session: Session
  readonly open: (resume: SessionId | undefined) => Promise<Session>
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly model: ChosenModel
}

/** The one thing on the screen that is the person's own stands out. */
function promptFor(terminal: Terminal): string {
  return terminal.color ? "\n\u{1B}[1;36myou>\u{1B}[0m " : "\nyou> "
}

/** A conversation line by line. Ctrl+C stops the running answer; Ctrl+C at the prompt, Ctrl+D or /exit leaves. */
export async function converse(options: ConversationOptions): Promise<number> {
  const { terminal, signal } = options
  let session = options.session
  const lines = openLines(terminal, signal)
  terminal.line(banner(options))
  try {
    for (;;) {
      const line = await lines.next(promptFor(terminal))
      if (line === undefined) break
      const text = line.trim()
      if (text === "") continue
      if (text.startsWith("/")) {
        const outcome = await runSlashCommand(text, { app: options.app, session, open: options.open })
        if (outcome.kind === "leave") break
        if (outcome.kind === "switch") {
          await session.close("session_switch")
          session = outcome.session
        }
        terminal.line(outcome.text)
        continue
      }
      await runTurn(text, { session, lines, terminal, signal })
    }
  } finally {
    lines.close()
    await session.close("user_exit")
  }
  if (session.facts.unsaved === undefined) terminal.errLine(`Continue with: hermes --resume ${session.id}`)
  return 0
}

function banner({ session, model }: ConversationOptions): string {
  const { facts } = session
  const what =
    model.runtime.provider === "demo" ? `${facts.model} (demo, not an AI)` : `${facts.model} (${facts.provider})`
  return [
    `Hermes · ${what} · ${facts.cwd}`,
    facts.resumed ? `Continuing ${session.id} with ${facts.messages} messages.` : "Type a message, or /help.",
  ].join("\n")
}

interface TurnOptions {
  readonly session: Session
  readonly lines: Lines
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

async function runTurn(text: string, { session, lines, terminal, signal }: TurnOptions): Promise<void> {
  const view = createTurnView({ terminal, progress: "stdout" })
  lines.onInterrupt(() => {
    session.interrupt()
  })
  try {
    for await (const event of session.run(text, { signal })) {
      if (event.type === "run-end") view.end(event)
      else view.event(event)
      if (event.type === "approval-request") await ask(event, { session, lines })
    }
  } finally {
    lines.onInterrupt(undefined)
  }
}

async function ask(
  request: ApprovalRequest,
  { session, lines }: Pick<TurnOptions, "session" | "lines">,
): Promise<void> {
  const what = request.command ?? `${request.call.name} ${JSON.stringify(request.call.args)}`
  const answer = await lines.answer(`${approvalQuestion(what, request.description)} `)
  session.answer(request.requestId, { kind: "approval", choice: readChoice(answer) })
}

/** Lines typed by the person. What is typed while an answer runs waits for its turn. */
interface Lines {
  /** The next line, or undefined at the end of input, after Ctrl+C at the prompt and on a signal. */
  next(prompt: string): Promise<string | undefined>
  /** The answer to a question: only what is typed after it was asked counts, never a line that waits for its turn. */
  answer(question: string): Promise<string | undefined>
  onInterrupt(handler: (() => void) | undefined): void
  close(): void
}

function openLines(terminal: Terminal, signal: AbortSignal): Lines {
  const reader: Interface = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: terminal.stdoutIsTty,
    historySize: 500,
  })
  const waiting: string[] = []
  let interrupt: (() => void) | undefined
  let take: ((line: string | undefined) => void) | undefined
  let ended = false
  const give = (line: string | undefined): void => {
    const taker = take
    take = undefined
    if (taker !== undefined) taker(line)
    else if (line !== undefined) waiting.push(line)
  }
  const end = (): void => {
    ended = true
    give(undefined)
  }
  reader.on("line", give)
  reader.on("close", end)
  reader.on("SIGINT", () => {
    if (interrupt !== undefined) {
      interrupt()
      if (take !== undefined) terminal.line()
      give(undefined)
    } else {
      terminal.line()
      reader.close()
    }
  })
  signal.addEventListener("abort", end, { once: true })
  const ask = (prompt: string): Promise<string | undefined> => {
    if (ended) return Promise.resolve(undefined)
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    take = resolve
    // The reader redraws a prompt from its first row on, over whatever was printed meanwhile: it gets the last row only.
    const lastRow = prompt.lastIndexOf("\n") + 1
    terminal.out(prompt.slice(0, lastRow))
    reader.setPrompt(prompt.slice(lastRow))
    reader.prompt()
    return promise
  }
  return {
    next: (prompt) => {
      const typed = waiting.shift()
      return typed === undefined ? ask(prompt) : Promise.resolve(typed)
    },
    answer: ask,
    onInterrupt: (handler) => {
      interrupt = handler
    },
    close: () => {
      reader.close()
    },
  }
}
