import { isRecord, parseJson } from "../../src/base/json.ts"
import { recordsIn } from "../support/model-server/request-parts.ts"

/** A script in which the model runs `true` so many times and then answers. */
export function toolConversation(turns: number): readonly object[] {
  const call = { calls: [{ name: "terminal", input: { command: "true" } }] }
  return [...Array.from({ length: turns }, () => call), { text: "Done." }]
}

/** A tool that fails is quicker than one that runs: fails unless the last request reports so many commands that ended well. */
export function requireCommandsRan(lastBody: unknown, expected: number): void {
  const results = recordsIn(lastBody, "messages").filter((message) => message["role"] === "tool")
  const bad = results.find(({ content }) => !endedWell(content))
  if (bad !== undefined) throw new Error(`a command of the conversation did not run: ${String(bad["content"])}`)
  if (results.length !== expected) throw new Error(`${results.length} commands ran where ${expected} should have`)
}

function endedWell(content: unknown): boolean {
  const result = typeof content === "string" ? parseJson(content) : undefined
  return isRecord(result) && result["exit_code"] === 0
}
