import type { Clock } from "../base/clock.ts"
import type { Result } from "../base/result.ts"
import { fail, ok } from "../base/result.ts"
import type { ChosenModel } from "./choose-model.ts"
import type { HttpTimeouts } from "./http.ts"
import type { ModelClient } from "./model.ts"

export interface OpenModelOptions {
  readonly clock: Clock
  readonly random: () => number
  readonly maxAttempts: number
  readonly timeouts: HttpTimeouts
  readonly version: string
  /** The parsed HERMES_DEMO_SCRIPT, for the demo model. */
  readonly demoScript?: unknown
}

/** The client for a chosen model. Only the code of its own wire is loaded. */
export async function openModel(chosen: ChosenModel, options: OpenModelOptions): Promise<Result<ModelClient>> {
  if (chosen.runtime.wire === "in-process") return await openDemo(options)
  const [{ createHttpClient }, { createChatCompletionsWire }] = await Promise.all([
    import("./http-client.ts"),
    import("./wire/chat-completions.ts"),
  ])
  return ok(
    createHttpClient({
      runtime: chosen.runtime,
      wire: createChatCompletionsWire({ includeUsage: true, host: new URL(chosen.runtime.baseUrl).hostname }),
      headers: {
        "content-type": "application/json",
        accept: "text/event-stream",
        "user-agent": `hermes-agent/${options.version}`,
        ...(chosen.key === undefined ? {} : { authorization: `Bearer ${chosen.key}` }),
        ...chosen.headers,
      },
      timeouts: options.timeouts,
      maxAttempts: options.maxAttempts,
      clock: options.clock,
      random: options.random,
    }),
  )
}

async function openDemo(options: OpenModelOptions): Promise<Result<ModelClient>> {
  const { createDemoClient } = await import("./demo/client.ts")
  if (options.demoScript === undefined) return ok(createDemoClient({ clock: options.clock }))
  const { parseDemoScript } = await import("./demo/script.ts")
  const script = parseDemoScript(options.demoScript)
  return script.ok
    ? ok(createDemoClient({ clock: options.clock, script: script.value }))
    : fail(`the demo script cannot be used: ${script.error}`)
}
