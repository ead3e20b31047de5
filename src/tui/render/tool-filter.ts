import type { LiveEvent } from "../chat-ui.ts"

export type ToolProgressMode = "off" | "new" | "all" | "verbose"

/** Decides which events are shown: no tool calls with `off`, and with `new` none of the tool that was called last. */
export function createToolFilter(mode: ToolProgressMode): (event: LiveEvent) => boolean {
  const hidden = new Set<string>()
  let lastName = ""
  return (event) => {
    if (event.type === "tool-progress") return !hidden.has(event.callId)
    if (event.type === "tool-end") return !hidden.has(event.call.id)
    if (isAboutSubagent(event)) return mode !== "off"
    if (event.type !== "tool-start") return true
    const { id, name } = event.call
    const isShown = mode === "new" ? name !== lastName : mode !== "off"
    lastName = name
    if (!isShown) hidden.add(id)
    return isShown
  }
}

function isAboutSubagent(event: LiveEvent): boolean {
  if (event.type === "status") return event.kind === "subagent"
  return event.type === "subagent-start" || event.type === "subagent-end"
}
