/** The three standard streams as a command sees them. Writing to a closed pipe is silent; `closed` tells that it happened. */
export interface Terminal {
  /** Text for stdout, as is. */
  out(text: string): void
  /** Text for stderr, as is. */
  err(text: string): void
  /** One line each. */
  line(text?: string): void
  errLine(text: string): void
  readonly stdinIsTty: boolean
  /** Standard input is a pipe, a socket or a regular file, so somebody put it there to be read (a TTY and /dev/null are not). */
  readonly stdinIsPiped: boolean
  readonly stdoutIsTty: boolean
  readonly stderrIsTty: boolean
  readonly columns: number
  /** Whether ANSI may be written to stdout: a TTY, no NO_COLOR, no TERM=dumb, no --no-color. */
  readonly color: boolean
  /** Stdout was closed by the reader. */
  readonly closed: boolean
  /** Asks a yes/no question on the terminal; without a TTY gives `undefined` at once. EOF counts as "no answer". */
  confirm(question: string): Promise<boolean | undefined>
  /** Reads one line; `undefined` at EOF or without a TTY. `secret` does not echo. */
  ask(question: string, options?: { readonly secret?: boolean }): Promise<string | undefined>
  /** Standard input as text, at most `maxBytes`. */
  readStdin(options: StdinOptions): Promise<StdinText>
  /** Resolves when everything written has been handed to the operating system. */
  flush(): Promise<void>
}

export interface StdinOptions {
  readonly maxBytes: number
  readonly signal: AbortSignal
  /** Gives up when nothing at all arrived within this time; without it the wait ends at EOF or abort only. */
  readonly firstByteWithinMs?: number
}

export interface StdinText {
  readonly text: string
  /** There was more than `maxBytes`. */
  readonly truncated: boolean
  /** Nothing arrived within `firstByteWithinMs`. */
  readonly timedOut: boolean
}
