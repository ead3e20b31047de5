import { appendFile } from "node:fs/promises"
import { join } from "node:path"

import type { Measurement, Row } from "./measurement.ts"
import { timeCommand } from "./rounds.ts"
import type { ScriptedModel, SeenRequest } from "./scripted-model.ts"
import { startScriptedModel } from "./scripted-model.ts"

const ANSWER = "Hello."

/** What a fresh home sends before the first answer: prompt, tools and a short message, in the default and the lean style. */
export const firstRequest: Measurement = {
  name: "first-request",
  run: async () => {
    await using model = await startScriptedModel([{ text: ANSWER }])
    const full = rowsFor("default", await ask(model), 16_000)
    await appendFile(join(model.home.path, "config.yaml"), "agent:\n  prompt_style: lean\n")
    return [...full, ...rowsFor("lean", await ask(model), 6000)]
  },
}

async function ask(model: ScriptedModel): Promise<SeenRequest> {
  const { stdout } = await timeCommand(model.hermes("-z", "Say hello."))
  const [request, ...more] = await model.takeRequests()
  if (request === undefined || more.length > 0) throw new Error("a one-shot did not send exactly one request")
  if (stdout !== `${ANSWER}\n`) throw new Error(`a one-shot printed something else: ${stdout}`)
  return request
}

function rowsFor(style: string, { rawBody, body }: SeenRequest, atMost: number): readonly Row[] {
  const { tools = [] } = body as { readonly tools?: readonly unknown[] }
  return [
    { name: `first request, ${style}`, unit: "bytes", ours: Buffer.byteLength(rawBody), target: { atMost } },
    { name: `tools declared, ${style}`, unit: "count", ours: tools.length },
  ]
}
