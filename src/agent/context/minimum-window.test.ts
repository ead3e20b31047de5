import { expect, test } from "vitest"

import type { ModelClient } from "../../llm/model.ts"
import { createMinimumWindowCheck } from "./minimum-window.ts"

const { signal } = new AbortController()

/** A model whose server reports these windows, one per lookup. */
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
    ollamaWindow: ({ anyPort }) => {
      asked.push(anyPort)
      return Promise.resolve(answers[asked.length - 1])
    },
    stream: () => {
      throw new Error("not called in this test")
    },
    close: () => undefined,
  }
  return { model, asked }
}

test("a small window causes one warning after an answer and no refusal", async () => {
  const floor = createMinimumWindowCheck({ enforced: false })
  const { model, asked } = client(4096)
  expect(await floor.refusal(model, signal)).toBeUndefined()
  expect([await floor.warning(model, signal), await floor.warning(model, signal)]).toEqual([
    "Ollama runs qwen3 with a context window of 4.1K tokens and silently truncates longer requests. Start Ollama with OLLAMA_CONTEXT_LENGTH=65536, or put `PARAMETER num_ctx 65536` into the Modelfile",
    undefined,
  ])
  expect(asked).toEqual([false])
})

test.each([[64_000], [undefined]])("a window of %s is nothing to warn of", async (tokens) => {
  expect(await createMinimumWindowCheck({ enforced: false }).warning(client(tokens).model, signal)).toBeUndefined()
})

test("enforced: a window that becomes known after the first answer stops the second request, without another lookup", async () => {
  const floor = createMinimumWindowCheck({ enforced: true })
  const { model, asked } = client(undefined, 4096)
  const refusals = []
  for (let request = 0; request < 3; request += 1) refusals.push(await floor.refusal(model, signal))
  const refusal = expect.stringMatching(
    /^Ollama runs qwen3 with a context window of 4.1K tokens, but agent.enforce_min_context requires/,
  )
  expect(refusals).toEqual([undefined, refusal, refusal])
  expect(asked).toEqual([true, true])
})

test("enforced: a server that is not Ollama is queried twice at most", async () => {
  const floor = createMinimumWindowCheck({ enforced: true })
  const { model, asked } = client()
  for (let request = 0; request < 4; request += 1) expect(await floor.refusal(model, signal)).toBeUndefined()
  expect(asked).toHaveLength(2)
})
