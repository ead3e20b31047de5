import { visibleName } from "../../../base/visible-text.ts"
import type { CompletionSource } from "./completion-source.ts"
import { NO_COMPLETIONS } from "./completion-source.ts"

/** The names in a directory; those of directories end with `/`. A path that cannot be read has none. */
export type ListDirectory = (path: string, signal: AbortSignal) => Promise<readonly string[]>

/** Completes paths in a command after `!`. */
export function pathSource(list: ListDirectory): CompletionSource {
  return {
    complete: async (text, cursor, signal) => {
      const before = text.slice(0, cursor)
      // The first word is a program.
      const [, , word = ""] = /^!\s*\S[^\n]*?(\s|=)((?:\\.|[^\s\\'"=])*)$/u.exec(before) ?? []
      const program = /^!\s*((?:\\.|[^\s\\])*\/(?:\\.|[^\s\\])*)$/u.exec(before)?.[1]
      const typed = program ?? word
      if (typed === "") return NO_COMPLETIONS
      const path = typed.replaceAll(/\\(.)/gu, "$1")
      const slash = path.lastIndexOf("/") + 1
      const name = path.slice(slash)
      // As in a shell, names are completed from their start, and hidden ones only after a dot.
      const names = (await list(path.slice(0, slash), signal)).filter(
        (entry) => entry.toLowerCase().startsWith(name.toLowerCase()) && (name !== "" || !entry.startsWith(".")),
      )
      const items = names.map((entry) => ({
        text: `${escaped(path.slice(0, slash) + entry)}${entry.endsWith("/") ? "" : " "}`,
        label: visibleName(entry),
      }))
      return { start: cursor - typed.length, end: cursor, items, isOptional: true }
    },
  }
}

function escaped(path: string): string {
  return path.replaceAll(/[^\w./~+:,@%-]/gu, (character) => `\\${character}`)
}
