import type { LiveArea } from "./live-area.ts"

/** The standard streams of a command. Writing to a closed pipe does not fail; it sets `closed`. */
export interface Terminal {
  /** Writes text to stdout: unchanged to a pipe, without any sequence that a terminal would interpret to a TTY. */
  out(text: string): void
  /** The same for stderr. */
  err(text: string): void
  /** Write a line to stdout or stderr. */
  line(text?: string): void
  errLine(text: string): void
  /** Writes a line with styles of Hermes. Text from outside must have passed `plainText`, `oneLine`, `bold` or `dim`. */
  styledLine(text: string, stream?: "stdout" | "stderr"): void
  readonly stdinIsTty: boolean
  /** Standard input is a pipe, a socket or a regular file, and should be read; false for a TTY and /dev/null. */
  readonly stdinIsPiped: boolean
  readonly stdoutIsTty: boolean
  readonly stderrIsTty: boolean
  readonly columns: number
  readonly rows: number
  /** The rows at the bottom of the screen that change in place. Undefined when neither stdout nor stderr is a TTY. */
  readonly live: LiveArea | undefined
  /** The cursor can be moved: TERM is not dumb. Otherwise the live area prints what it cannot change. */
  readonly movesCursor: boolean
  /** Another part of Hermes draws on the terminal. `giveBack` is called if it has to stop at once. The returned function ends that. */
  lend(giveBack: () => void): () => void
  /** Calls the listener after each change of the window size, until the returned function is called. */
  onResize(listener: () => void): () => void
  /** ANSI codes may be written to stdout: it is a TTY, without NO_COLOR, TERM=dumb and --no-color. */
  readonly color: boolean
  /** The reader has closed stdout. */
  readonly closed: boolean
  /** Calls the listener when `closed` becomes true, at once if it is. */
  onClose(listener: () => void): void
  /** Asks a yes-or-no question. Returns undefined at EOF and without a TTY. */
  confirm(question: string): Promise<boolean | undefined>
  /** Reads one line. Returns undefined at EOF, without a TTY and when the signal aborts. `secret` turns the echo off. */
  ask(
    question: string,
    options?: { readonly secret?: boolean; readonly signal?: AbortSignal },
  ): Promise<string | undefined>
  /** Reads standard input as text, at most `maxBytes`. */
  readStdin(options: StdinOptions): Promise<StdinText>
  /** Resolves when all output has been passed to the operating system. */
  flush(): Promise<void>
}

export interface StdinOptions {
  readonly maxBytes: number
  readonly signal: AbortSignal
  /** Stops waiting when no data has arrived within this time. Without it, only EOF and the signal end the wait. */
  readonly firstByteWithinMs?: number
}

export interface StdinText {
  readonly text: string
  /** There was more than `maxBytes`. */
  readonly truncated: boolean
  /** Nothing arrived within `firstByteWithinMs`. */
  readonly timedOut: boolean
}
