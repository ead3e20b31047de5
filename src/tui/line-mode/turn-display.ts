import type { Config } from "../../config/load-config.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import type { LiveEvent } from "../chat-ui.ts"
import { createToolFilter } from "../render/tool-filter.ts"
import type { ToolProgressMode } from "../render/tool-filter.ts"
import type { TurnView } from "./turn-view.ts"

type Delta = Extract<LiveEvent, { type: "text-delta" }>

export interface TurnDisplay {
  readonly toolProgress: ToolProgressMode
  /** Text is shown as it arrives. */
  readonly streams: boolean
  readonly showsReasoning: boolean
  /** Rings when the turn ends. */
  readonly bell: boolean
  readonly terminal: Terminal
}

/** What the settings say. */
export function configuredDisplay(config: Pick<Config, "get">, terminal: Terminal): TurnDisplay {
  return {
    toolProgress: config.get("display.tool_progress"),
    streams: config.get("display.streaming"),
    showsReasoning: config.get("display.show_reasoning"),
    bell: config.get("display.bell_on_complete"),
    terminal,
  }
}

/** Shows a turn as the user wants it. */
export function withDisplaySettings(view: TurnView, display: TurnDisplay): TurnView {
  const { streams, showsReasoning, terminal } = display
  const showsTool = createToolFilter(display.toolProgress)
  const bell = display.bell && terminal.stdoutIsTty
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
