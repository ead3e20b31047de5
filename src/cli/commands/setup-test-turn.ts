import { startApp } from "../../app/start.ts"
import { errorMessage } from "../../base/system-error.ts"
import { asSentence } from "../../base/sentence.ts"
import type { Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { VERSION } from "../version.ts"

const PROMPT = "This is a test of the connection. Reply with one short sentence of greeting."
const LIMIT_MS = 60_000

/** Offers to send one small request with the new settings, and shows the answer or the reason why there is none. */
export async function offerTestTurn(invocation: Invocation): Promise<void> {
  const { terminal } = invocation
  if ((await terminal.confirm("Send a short test message to the model now?")) !== true) return
  try {
    terminal.line(await testTurn(invocation))
  } catch (error) {
    terminal.errLine(`The test failed: ${asSentence(errorMessage(error))}`)
  }
}

async function testTurn(invocation: Invocation): Promise<string> {
  const { progress } = homeContext(invocation)
  const { app } = await startApp({ home: invocation.home, environment: invocation.environment, version: VERSION })
  try {
    const chosen = app.chooseModel({})
    if (!chosen.ok) return `The test failed: ${asSentence(chosen.error.message)}`
    const opened = await app.openSession({
      model: chosen.value,
      cwd: process.cwd(),
      origin: { surface: "cli", source: "tool", attended: () => false },
      toolsets: [],
      maxIterations: 1,
    })
    if (!opened.ok) return `The test failed: ${asSentence(opened.error)}`
    const session = opened.value
    const { model } = session.facts
    progress?.({ step: `waiting for ${model}` })
    let text = `The test failed: ${model} did not answer.`
    const signal = AbortSignal.any([invocation.signal, AbortSignal.timeout(LIMIT_MS)])
    for await (const event of session.run(PROMPT, { signal })) {
      if (event.type !== "run-end") continue
      const { finalResponse, error } = event.result
      if (error !== undefined) text = `The test failed: ${asSentence(error.message)}`
      else if (finalResponse !== null && finalResponse !== "") text = `${model}: ${plainText(finalResponse.trim())}`
    }
    const { id } = session
    await session.close("completed")
    await (await app.store()).deleteSession(id)
    return text
  } finally {
    progress?.(undefined)
    await app.close()
  }
}
