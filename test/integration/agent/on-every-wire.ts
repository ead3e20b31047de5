import type { ModelServer } from "../../support/model-server/server.ts"
import type { ScriptEntry } from "../../support/model-server/turn.ts"
import { assembleApp } from "../assembled-app.ts"
import type { AssembledApp, AssembleOptions } from "../assembled-app.ts"

/** The path of each wire on the test server, and a model name that its rules accept. */
const PLACES = {
  chat_completions: { basePath: "/v1", model: "test-model" },
  anthropic_messages: { basePath: "", model: "claude-opus-4-6" },
  codex_responses: { basePath: "/v1", model: "test-model" },
  gemini_native: { basePath: "/v1beta", model: "gemini-2.5-pro" },
  bedrock_converse: { basePath: "", model: "anthropic.claude-opus-4-6" },
} as const
export type WireName = keyof typeof PLACES

export const WIRES = [
  "chat_completions",
  "anthropic_messages",
  "codex_responses",
  "gemini_native",
  "bedrock_converse",
] as const satisfies readonly WireName[]

/** The assembled app with a model on this wire; `config` follows the keys of `model`. */
export async function assembleOn(
  wire: WireName,
  script: readonly ScriptEntry[],
  { config = "", env = {}, ...more }: AssembleOptions = {},
): Promise<AssembledApp> {
  return await assembleApp(script, {
    ...PLACES[wire],
    config: `  api_mode: ${wire}\n  api_key: test-key-0123456789\n${config}`,
    env: { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret-of-the-test", ...env },
    ...more,
  })
}

/** What a strict server would reject: results without a call, and calls without a result. */
export function wireProblems(model: ModelServer, index: number): readonly string[] {
  const { messages } = model.view(index)
  const problems: string[] = []
  let open: readonly string[] = []
  for (const { role, calls, results } of messages) {
    const answered = results.map(({ id }) => id)
    if (role === "user" && answered.join() !== open.join()) problems.push(`${answered.join()} answers ${open.join()}`)
    open = role === "assistant" ? calls.map(({ id }) => id) : []
  }
  if (open.length > 0) problems.push(`calls without a result: ${open.join()}`)
  if (messages[0]?.role !== "user") problems.push("the conversation does not start with the user")
  return problems
}
