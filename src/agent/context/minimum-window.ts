import { compactCount } from "../../base/compact-count.ts"
import type { ModelClient } from "../../llm/model.ts"

/**
 * Detects an Ollama context window that is too small. Ollama truncates silently, so a conversation with tools seems to work while
 * the model forgets its beginning. One per session; the window of each model is cached.
 */
export interface MinimumWindowCheck {
  /** Before a request: the reason when it must not be sent. Checks only with `agent.enforce_min_context`. */
  refusal(model: ModelClient, signal: AbortSignal): Promise<string | undefined>
  /** After an answer, when the model is loaded and its window is final: a warning, once per model. */
  warning(model: ModelClient, signal: AbortSignal): Promise<string | undefined>
}

const SMALLEST_WINDOW = 64_000
/** One lookup may come before the model is loaded. A server that does not report a window twice is not Ollama. */
const MAX_LOOKUPS = 2

export function createMinimumWindowCheck({ enforced }: { readonly enforced: boolean }): MinimumWindowCheck {
  const known = new Map<string, { readonly tokens: number | undefined; readonly lookups: number }>()
  const warned = new Set<string>()

  const windowOf = async (model: ModelClient, signal: AbortSignal): Promise<number | undefined> => {
    const name = nameOf(model)
    const { tokens: cached, lookups } = known.get(name) ?? { tokens: undefined, lookups: 0 }
    if (cached !== undefined || lookups >= MAX_LOOKUPS) return cached
    const tokens = await model.ollamaWindow?.({ signal, anyPort: enforced })
    if (!signal.aborted) known.set(name, { tokens, lookups: lookups + 1 })
    return tokens
  }

  return {
    refusal: async (model, signal) => {
      if (!enforced) return undefined
      const tokens = await windowOf(model, signal)
      if (tokens === undefined || tokens >= SMALLEST_WINDOW) return undefined
      return `${tooSmall(model, tokens)}, but agent.enforce_min_context requires ${SMALLEST_WINDOW}. ${REMEDY}, or set agent.enforce_min_context to false`
    },
    warning: async (model, signal) => {
      const name = nameOf(model)
      if (enforced || warned.has(name)) return undefined
      warned.add(name)
      const tokens = await windowOf(model, signal)
      if (tokens === undefined || tokens >= SMALLEST_WINDOW) return undefined
      return `${tooSmall(model, tokens)} and silently truncates longer requests. ${REMEDY}`
    },
  }
}

const REMEDY = "Start Ollama with OLLAMA_CONTEXT_LENGTH=65536, or put `PARAMETER num_ctx 65536` into the Modelfile"

function tooSmall({ runtime }: ModelClient, tokens: number): string {
  return `Ollama runs ${runtime.model} with a context window of ${compactCount(tokens)} tokens`
}

function nameOf({ runtime }: ModelClient): string {
  return `${runtime.baseUrl} ${runtime.model}`
}
