import type { Terminal } from "../terminal/terminal.ts"

/**
 * Lines that the terminal marks as pasted (bracketed paste). They belong to the draft: they are sent only when the user presses
 * Enter, together with it as one message.
 */
export interface PastedText {
  /** Keeps a line that is part of a paste. Returns false for other lines. */
  hold(line: string): boolean
  /** Returns the kept lines, followed by the line that Enter completed. */
  complete(line: string): string
  /** Drops the kept lines. Returns false when there were none. */
  drop(): boolean
  close(): void
}

const ENABLE_BRACKETED_PASTE = "\u{1B}[?2004h"
const DISABLE_BRACKETED_PASTE = "\u{1B}[?2004l"

/** `input` must emit keypress events, so a readline interface has to be opened on it first. */
export function openPastedText(input: NodeJS.ReadableStream, terminal: Terminal): PastedText {
  const isTerminal = terminal.stdinIsTty && terminal.stdoutIsTty
  let kept: string[] = []
  let inPaste = false
  const onKey = (_text: unknown, key: { readonly name?: string } | undefined): void => {
    if (key?.name === "paste-start") inPaste = true
    else if (key?.name === "paste-end") inPaste = false
  }
  input.on("keypress", onKey)
  if (isTerminal) terminal.out(ENABLE_BRACKETED_PASTE)
  return {
    hold: (line) => {
      if (inPaste) kept.push(line)
      return inPaste
    },
    complete: (line) => {
      const whole = [...kept, line].join("\n")
      kept = []
      return whole
    },
    drop: () => kept.splice(0).length > 0,
    close: () => {
      input.off("keypress", onKey)
      if (isTerminal) terminal.out(DISABLE_BRACKETED_PASTE)
    },
  }
}
