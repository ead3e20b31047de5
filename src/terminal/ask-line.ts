import { raiseHangup } from "./stop-signal.ts"
import { openLineEditor } from "./editor/line-editor.ts"
import type { Terminal } from "./terminal.ts"

/** Asks a question on the terminal. Returns undefined at EOF and when the signal aborts. */
export function askLine(
  question: string,
  options: { readonly terminal: Terminal; readonly secret: boolean; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const { terminal, secret, signal } = options
  const lastRow = question.lastIndexOf("\n") + 1
  terminal.err(question.slice(0, lastRow))
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const finish = (answer: string | undefined): void => {
    signal.removeEventListener("abort", stop)
    editor.leave("")
    editor.close()
    process.stdin.unref()
    resolve(answer)
  }
  const stop = (): void => finish(undefined)
  const editor = openLineEditor({
    input: process.stdin.ref(),
    terminal,
    history: () => [],
    events: {
      submitted: finish,
      // In raw mode Ctrl+C arrives as a character instead of a signal. Raising SIGINT aborts `signal`, which ends the question.
      interrupted: () => process.kill(process.pid, "SIGINT"),
      left: stop,
      ended: raiseHangup,
      hiddenDraftChanged: () => undefined,
    },
  })
  signal.addEventListener("abort", stop, { once: true })
  editor.show({ text: question.slice(lastRow), kind: secret ? "secret" : "answer" })
  return promise
}
