import { appendFileSync, renameSync, statSync } from "node:fs"

import { stripAnsi } from "../../base/strip-ansi.ts"

/** Where the error output of all stdio servers goes: one file, each line with the name of its server. */
export interface ErrorLog {
  /** Returns a function that takes pieces of text as they arrive. */
  of(server: string): (text: string) => void
}

const MAX_FILE_BYTES = 5_000_000
const MAX_LINE_CHARS = 2000

export function createErrorLog(file: string, { redact }: { readonly redact: (text: string) => string }): ErrorLog {
  const append = (text: string): void => {
    try {
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_FILE_BYTES) renameSync(file, `${file}.1`)
      appendFileSync(file, text, { mode: 0o600 })
    } catch {
      // A full disk or a missing directory must not end a connection.
    }
  }
  return {
    of: (server) => {
      let rest = ""
      return (text) => {
        const lines = (rest + text).split("\n")
        rest = (lines.pop() ?? "").slice(-MAX_LINE_CHARS)
        const written = lines.map((line) => `[${server}] ${redact(stripAnsi(line).slice(0, MAX_LINE_CHARS))}\n`)
        if (written.length > 0) append(written.join(""))
      }
    },
  }
}
