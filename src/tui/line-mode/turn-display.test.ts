import { expect, test } from "vitest"

import { recordingTerminal } from "../../../test/support/cli-home.ts"
import { settingOf, type SettingKey } from "../../config/settings.ts"
import type { Config } from "../../config/load-config.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { createScreen } from "../../terminal/live-area.ts"
import type { LiveEvent } from "../chat-ui.ts"
import { configuredDisplay, withDisplaySettings } from "./turn-display.ts"

type Body = Exclude<AgentEventBody, { type: "run-end" }>

/** The events and notes that reach the view. */
function shown(settings: Partial<Record<SettingKey, unknown>>, bodies: readonly Body[]): readonly string[] {
  const seen: string[] = []
  const get: Config["get"] = (key) => settingOf(key).read(settings[key]) ?? settingOf(key).default
  const { live } = createScreen({ write: (text) => void seen.push(text), columns: 80 })
  const terminal = { ...recordingTerminal(), stdoutIsTty: true, live }
  const view = withDisplaySettings(
    {
      event: (event) => void seen.push(describe(event)),
      note: (text) => void seen.push(`note ${text}`),
      setDraft: () => undefined,
      end: () => void seen.push("end"),
      close: () => undefined,
    },
    configuredDisplay({ get }, terminal),
  )
  for (const body of bodies) view.event({ ...body, sessionId: toSessionId("s"), runId: "r", seq: 0, ts: 0 })
  view.end(undefined)
  return seen
}

function describe(event: LiveEvent): string {
  if (event.type === "tool-start") return `start ${event.call.id}`
  if (event.type === "tool-end") return `end ${event.call.id}`
  if (event.type === "text-delta") return `text ${event.text}`
  return event.type === "message-end" ? `message streamed=${event.streamed}` : event.type
}

const text = (words: string): Body => ({ type: "text-delta", text: words })
const MESSAGE: Body = {
  type: "message-end",
  streamed: true,
  message: { id: "m", role: "assistant", text: "ab", finishReason: "stop", toolCalls: [] },
}
const start = (id: string, name: string): Body => ({
  type: "tool-start",
  call: { id, name, args: {} },
  preview: "",
  access: "read",
  subjects: [],
})

test("by default everything is passed on", () => {
  expect(shown({}, [text("a"), text("b"), MESSAGE, start("1", "x")])).toEqual([
    "text a",
    "text b",
    "message streamed=true",
    "start 1",
    "end",
  ])
})

test("without streaming a reply is shown when it is complete, and an interrupted one at the end", () => {
  const settings = { "display.streaming": false }
  expect(shown(settings, [text("a"), text("b"), MESSAGE])).toEqual(["message streamed=false", "end"])
  expect(shown(settings, [text("a"), text("b")])).toEqual(["text ab", "end"])
})

test("tool_progress hides all calls, or those of the tool that was called before", () => {
  const calls = [start("1", "x"), start("2", "x"), start("3", "y")]
  expect(shown({ "display.tool_progress": "off" }, calls)).toEqual(["end"])
  expect(shown({ "display.tool_progress": "new" }, calls)).toEqual(["start 1", "start 3", "end"])
})

test("reasoning is a note before what follows it; the bell rings at the end", () => {
  const bodies: Body[] = [
    { type: "reasoning-delta", text: "I " },
    { type: "reasoning-delta", text: "think." },
    text("a"),
  ]
  expect(shown({ "display.show_reasoning": true, "display.bell_on_complete": true }, bodies)).toEqual([
    "reasoning-delta",
    "reasoning-delta",
    "note I think.",
    "text a",
    "end",
    "\u0007",
  ])
})
