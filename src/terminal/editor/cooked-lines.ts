import { createInterface } from "node:readline"

import type { Terminal } from "../terminal.ts"
import { EMPTY_DRAFT } from "./draft.ts"
import type { LineEditor, LineEditorEvents } from "./line-editor.ts"

/** Reads lines that the operating system edits, for a conversation whose output is not a terminal. */
export function openCookedLines(options: {
  readonly input: NodeJS.ReadableStream
  readonly terminal: Terminal
  readonly events: Pick<LineEditorEvents, "submitted" | "ended">
}): LineEditor {
  const { terminal, events } = options
  const reader = createInterface({ input: options.input, terminal: false })
  let draft = EMPTY_DRAFT
  reader.on("line", (line) => {
    const text = draft.text === "" ? line : `${draft.text}\n${line}`
    draft = EMPTY_DRAFT
    events.submitted(text)
  })
  const onClose = (): void => {
    events.ended()
  }
  reader.on("close", onClose)
  return {
    get draft() {
      return draft
    },
    set draft(next) {
      draft = next
    },
    show: ({ text }) => {
      terminal.out(text)
    },
    hint: () => undefined,
    hide: () => {
      terminal.line()
    },
    leave: () => {
      terminal.line()
    },
    close: () => {
      reader.off("close", onClose)
      reader.close()
    },
  }
}
