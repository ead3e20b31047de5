import type { Terminal } from "../terminal.ts"

/**
 * Lines that the terminal marks as pasted (bracketed paste). They are part of what the person is still writing: nothing is sent
 * before they press Enter themselves, and then it is one message.
 */
export interface PastedText {
  /** Keeps a line that is part of a paste; false when it is not. */
  hold(line: string): boolean
  /** The line that Enter ended, below what was pasted before it. */
  complete(line: string): string
  /** Drops what is held; true when there was something. */
  drop(): boolean
  close(): void
}

const MARK_PASTES = "\u{1B}[?2004h"
const LEAVE_PASTES = "\u{1B}[?2004l"

/** `input` gives key presses: a reader has been opened on it. */
export function openPastedText(input: NodeJS.ReadableStream, terminal: Terminal): PastedText {
  const marks = terminal.stdinIsTty && terminal.stdoutIsTty
  let held: string[] = []
  let inPaste = false
  const onKey = (_text: unknown, key: { readonly name?: string } | undefined): void => {
    if (key?.name === "paste-start") inPaste = true
    else if (key?.name === "paste-end") inPaste = false
  }
  input.on("keypress", onKey)
  if (marks) terminal.out(MARK_PASTES)
  return {
    hold: (line) => {
      if (inPaste) held.push(line)
      return inPaste
    },
    complete: (line) => {
      const whole = [...held, line].join("\n")
      held = []
      return whole
    },
    drop: () => held.splice(0).length > 0,
    close: () => {
      input.off("keypress", onKey)
      if (marks) terminal.out(LEAVE_PASTES)
    },
  }
}
