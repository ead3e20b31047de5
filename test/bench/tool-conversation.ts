import { isRecord, parseJson } from "../../src/base/json.ts"
import { recordsIn } from "../support/model-server/request-parts.ts"

/** A script in which the model runs `true` in each turn and then sends a final reply. */
export function toolConversation(turns: number): readonly object[] {
  const call = { calls: [{ name: "terminal", input: { command: "true" } }] }
  return [...Array.from({ length: turns }, () => call), { text: "Done." }]
}

/** Throws unless the last request contains the expected number of successful commands: a failing tool is faster and would distort the result. */
export function requireCommandsRan(lastBody: unknown, expected: number): void {
  const results = recordsIn(lastBody, "messages").filter((message) => message["role"] === "tool")
  const failed = results.find(({ content }) => !succeeded(content))
  if (failed !== undefined) throw new Error(`a command did not run: ${String(failed["content"])}`)
  if (results.length !== expected) throw new Error(`expected ${expected} commands, ${results.length} ran`)
}

function succeeded(content: unknown): boolean {
  const result = typeof content === "string" ? parseJson(content.replaceAll(FENCE_LINES, "")) : undefined
  return isRecord(result) && result["exit_code"] === 0
}

/** Hermes marks the result of a command as data. */
const FENCE_LINES = /^\[data \w+\]\n|\n\[\/data \w+\]/gu
