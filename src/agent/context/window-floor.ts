import { compactCount } from "../../base/compact-count.ts"
import type { ModelClient } from "../../llm/model.ts"

/**
 * Ollama cuts what does not fit its window without a word, so a conversation with tools seems to work and is forgotten on the
 * way. One per session; what a server once said about a model is not asked again.
 */
export interface WindowFloor {
  /** Before a request: why it is not sent. Asks only where the person wants to be stopped (`agent.enforce_min_context`). */
  refusal(model: ModelClient, signal: AbortSignal): Promise<string | undefined>
  /** After an answer, when the model is loaded and its window certain: once per model, a sentence about one that is too small. */
  warning(model: ModelClient, signal: AbortSignal): Promise<string | undefined>
}

const SMALLEST_WINDOW = 64_000
/** Once before the model is loaded, and once when it certainly is: who has not answered by then is no Ollama. */
const MOST_QUESTIONS = 2

export function createWindowFloor({ enforced }: { readonly enforced: boolean }): WindowFloor {
  const known = new Map<string, { readonly tokens: number | undefined; readonly questions: number }>()
  const told = new Set<string>()

  const served = async (model: ModelClient, signal: AbortSignal): Promise<number | undefined> => {
    const name = nameOf(model)
    const { tokens: before, questions } = known.get(name) ?? { tokens: undefined, questions: 0 }
    if (before !== undefined || questions >= MOST_QUESTIONS) return before
    const tokens = await model.servedWindow?.({ signal, thorough: enforced })
    if (!signal.aborted) known.set(name, { tokens, questions: questions + 1 })
    return tokens
  }

  return {
    refusal: async (model, signal) => {
      if (!enforced) return undefined
      const tokens = await served(model, signal)
      if (tokens === undefined || tokens >= SMALLEST_WINDOW) return undefined
      return `${small(model, tokens)}, and agent.enforce_min_context asks for ${SMALLEST_WINDOW}. ${REMEDY}, or set agent.enforce_min_context to false`
    },
    warning: async (model, signal) => {
      const name = nameOf(model)
      if (enforced || told.has(name)) return undefined
      told.add(name)
      const tokens = await served(model, signal)
      if (tokens === undefined || tokens >= SMALLEST_WINDOW) return undefined
      return `${small(model, tokens)}; what does not fit is cut without a word. ${REMEDY}`
    },
  }
}

const REMEDY =
  "Start Ollama with OLLAMA_CONTEXT_LENGTH=65536, or put `PARAMETER num_ctx 65536` into the file of the model"

function small({ runtime }: ModelClient, tokens: number): string {
  return `Ollama gives ${runtime.model} a window of ${compactCount(tokens)} tokens`
}

function nameOf({ runtime }: ModelClient): string {
  return `${runtime.baseUrl} ${runtime.model}`
}
