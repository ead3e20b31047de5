import type { InputEvent } from "./key-event.ts"

/**
 * The text of keys that arrived together, if they were pasted: on a terminal that does not mark pasted text, a newline inside it would
 * send the message. A newline at the end only was typed.
 */
export function unmarkedPaste(events: readonly InputEvent[]): string | undefined {
  if (events.length <= 2) return undefined
  let text = ""
  for (const event of events) {
    if (event.type !== "key") return undefined
    if (event.chord === "enter" || event.chord === "ctrl+j") text += "\n"
    else if (event.chord === "tab") text += "\t"
    else if (event.text === "" || /^(?:ctrl|alt)\+/u.test(event.chord)) return undefined
    else text += event.text
  }
  return text.slice(0, -1).includes("\n") ? text : undefined
}
