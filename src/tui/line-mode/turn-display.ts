import type { Config } from "../../config/load-config.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import type { LiveEvent } from "../chat-ui.ts"
import type { TurnView } from "./turn-view.ts"

type Delta = Extract<LiveEvent, { type: "text-delta" }>

/** Shows a turn as the `display.*` settings ask for. */
export function withDisplaySettings(view: TurnView, config: Pick<Config, "get">, terminal: Terminal): TurnView {
  const showsTool = createToolFilter(config.get("display.tool_progress"))
  const streams = config.get("display.streaming")
  const showsReasoning = config.get("display.show_reasoning")
  const bell = config.get("display.bell_on_complete") && terminal.stdoutIsTty
  let unseen: Delta | undefined
  let reasoning = ""
  const flushReasoning = (): void => {
    if (reasoning.trim() !== "") view.note(reasoning.trim())
    reasoning = ""
  }
  return {
    ...view,
    event: (event) => {
      if (event.type === "reasoning-delta") {
        if (showsReasoning) reasoning += event.text
        view.event(event)
        return
      }
      flushReasoning()
      if (event.type === "text-delta" && !streams) {
        unseen = { ...event, text: (unseen?.text ?? "") + event.text }
        return
      }
      if (event.type === "message-end" && !streams) {
        unseen = undefined
        view.event({ ...event, streamed: false })
        return
      }
      if (event.type === "status" && "discardsText" in event) unseen = undefined
      if (showsTool(event)) view.event(event)
    },
    end: (end) => {
      flushReasoning()
      // The beginning of a reply that was interrupted.
      if (unseen !== undefined) view.event(unseen)
      view.end(end)
      if (bell) terminal.live?.control("\u0007")
    },
  }
}

/** Hides tool calls: all of them with `off`, those of the tool that was called last with `new`. */
function createToolFilter(progress: "off" | "new" | "all" | "verbose"): (event: LiveEvent) => boolean {
  const hidden = new Set<string>()
  let lastName = ""
  return (event) => {
    if (event.type === "tool-progress") return !hidden.has(event.callId)
    if (event.type === "tool-end") return !hidden.has(event.call.id)
    if (isAboutSubagent(event)) return progress !== "off"
    if (event.type !== "tool-start") return true
    const { id, name } = event.call
    const isShown = progress === "new" ? name !== lastName : progress !== "off"
    lastName = name
    if (!isShown) hidden.add(id)
    return isShown
  }
}

function isAboutSubagent(event: LiveEvent): boolean {
  if (event.type === "status") return event.kind === "subagent"
  return event.type === "subagent-start" || event.type === "subagent-end"
}
