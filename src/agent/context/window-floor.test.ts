import { expect, test } from "vitest"

import type { ModelClient } from "../../llm/model.ts"
import { createWindowFloor } from "./window-floor.ts"

const { signal } = new AbortController()

/** A model whose server gives these answers about its window, one after the other. */
function client(...answers: readonly (number | undefined)[]) {
  const asked: boolean[] = []
  const model: ModelClient = {
    runtime: {
      provider: "custom",
      model: "qwen3",
      wire: "chat_completions",
      baseUrl: "http://127.0.0.1:11434/v1",
      contextLength: 131_072,
      credentialSource: "none needed",
      billingMode: "local",
    },
    beginTurn: () => undefined,
    servedWindow: ({ thorough }) => {
      asked.push(thorough)
      return Promise.resolve(answers[asked.length - 1])
    },
    stream: () => {
      throw new Error("nobody asks it here")
    },
    close: () => undefined,
  }
  return { model, asked }
}

test("a small window is told once, after an answer, and stops nothing", async () => {
  const floor = createWindowFloor({ enforced: false })
  const { model, asked } = client(4096)
  expect(await floor.refusal(model, signal)).toBeUndefined()
  expect([await floor.warning(model, signal), await floor.warning(model, signal)]).toEqual([
    "Ollama gives qwen3 a window of 4.1K tokens; what does not fit is cut without a word. Start Ollama with OLLAMA_CONTEXT_LENGTH=65536, or put `PARAMETER num_ctx 65536` into the file of the model",
    undefined,
  ])
  expect(asked).toEqual([false])
})

test.each([[64_000], [undefined]])("a window of %s is nothing to warn of", async (tokens) => {
  expect(await createWindowFloor({ enforced: false }).warning(client(tokens).model, signal)).toBeUndefined()
})

test("enforced: a window that becomes known with the first answer stops the second request, and nobody is asked again", async () => {
  const floor = createWindowFloor({ enforced: true })
  const { model, asked } = client(undefined, 4096)
  const refusals = []
  for (let request = 0; request < 3; request += 1) refusals.push(await floor.refusal(model, signal))
  const refusal = expect.stringMatching(
    /^Ollama gives qwen3 a window of 4.1K tokens, and agent.enforce_min_context asks/,
  )
  expect(refusals).toEqual([undefined, refusal, refusal])
  expect(asked).toEqual([true, true])
})

test("enforced: who is no Ollama is asked twice and then left alone", async () => {
  const floor = createWindowFloor({ enforced: true })
  const { model, asked } = client()
  for (let request = 0; request < 4; request += 1) expect(await floor.refusal(model, signal)).toBeUndefined()
  expect(asked).toHaveLength(2)
})
