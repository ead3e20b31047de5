import { appendFile } from "node:fs/promises"
import { join } from "node:path"

import type { Measurement, Row } from "./measurement.ts"
import { timeCommand } from "./rounds.ts"
import type { ScriptedModel, ReceivedRequest } from "./scripted-model.ts"
import { startScriptedModel } from "./scripted-model.ts"

const REPLY = "Hello."

/** The size of the first request in a fresh home (prompt, tools and a short message) in the default and the lean style. */
export const firstRequest: Measurement = {
  name: "first-request",
  run: async () => {
    await using model = await startScriptedModel([{ text: REPLY }])
    const full = rowsFor("default", await sendPrompt(model), 16_000)
    await appendFile(join(model.home.path, "config.yaml"), "agent:\n  prompt_style: lean\n")
    return [...full, ...rowsFor("lean", await sendPrompt(model), 6000)]
  },
}

async function sendPrompt(model: ScriptedModel): Promise<ReceivedRequest> {
  const { stdout } = await timeCommand(model.hermes("-z", "Say hello."))
  const [request, ...more] = await model.takeRequests()
  if (request === undefined || more.length > 0) throw new Error("expected exactly one request")
  if (stdout !== `${REPLY}\n`) throw new Error(`unexpected output: ${stdout}`)
  return request
}

function rowsFor(style: string, { rawBody, body }: ReceivedRequest, atMost: number): readonly Row[] {
  const { tools = [] } = body as { readonly tools?: readonly unknown[] }
  return [
    { name: `first request, ${style}`, unit: "bytes", ours: Buffer.byteLength(rawBody), target: { atMost } },
    { name: `tools declared, ${style}`, unit: "count", ours: tools.length },
  ]
}
