import type { CompressOutcome, ContextEngine } from "../../agent/context/context-engine.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { Services } from "../services/services.ts"

export interface SelectedEngine {
  readonly engine: ContextEngine
  /** For the user: why another engine than the configured one is used. */
  readonly warning?: string
}

/** The engine that `context.engine` names. A plugin's engine that cannot be created or is unknown is replaced by the built-in one. */
export function selectedEngine(
  builtin: ContextEngine,
  { runtime }: ChosenModel,
  { config, log, plugins }: Services,
): SelectedEngine {
  const name = config.get("context.engine")
  if (name === "compressor") return { engine: builtin }
  const instead = (problem: string): SelectedEngine => {
    const warning = `${problem}; the built-in one is used`
    log.warning(warning)
    return { engine: builtin, warning }
  }
  const [found, ...others] =
    plugins?.loaded.all().flatMap(({ contextEngines }) => contextEngines.filter((engine) => engine.name === name)) ?? []
  if (others.length > 0) log.warning(`more than one plugin provides the context engine ${name}; the first one is used`)
  if (found === undefined) return instead(`no plugin provides the context engine "${name}" that context.engine names`)
  try {
    const { provider, model, contextLength } = runtime
    return { engine: guarded(found.create({ model: { provider, model, contextLength } }), builtin, log) }
  } catch (error) {
    return instead(`the context engine ${name} could not be created: ${errorMessage(error)}`)
  }
}

/** A fault of the engine must not end a turn: the built-in engine answers instead. */
function guarded(engine: ContextEngine, builtin: ContextEngine, log: Services["log"]): ContextEngine {
  const attempt = <T>(what: string, work: () => T, otherwise: () => T): T => {
    try {
      return work()
    } catch (error) {
      log.warning(`the context engine ${engine.name} failed in ${what}: ${errorMessage(error)}`)
      return otherwise()
    }
  }
  return {
    name: engine.name,
    get figures() {
      return attempt(
        "figures",
        () => engine.figures,
        () => builtin.figures,
      )
    },
    updateFromResponse: (prompt) => {
      builtin.updateFromResponse(prompt)
      attempt(
        "updateFromResponse",
        () => engine.updateFromResponse(prompt),
        () => undefined,
      )
    },
    shouldCompress: (tokens) =>
      attempt(
        "shouldCompress",
        () => engine.shouldCompress(tokens),
        () => builtin.shouldCompress(tokens),
      ),
    shouldDeferPreflight: (tokens) =>
      attempt(
        "shouldDeferPreflight",
        () => engine.shouldDeferPreflight(tokens),
        () => builtin.shouldDeferPreflight(tokens),
      ),
    hasContentToCompress: async (messages) => {
      try {
        const { lendHistory } = await import("./plugin-history.ts")
        return await engine.hasContentToCompress(lendHistory(messages).messages)
      } catch (error) {
        log.warning(`the context engine ${engine.name} failed in hasContentToCompress: ${errorMessage(error)}`)
        return await builtin.hasContentToCompress(messages)
      }
    },
    compress: async (messages, options): Promise<CompressOutcome> => {
      try {
        const { lendHistory } = await import("./plugin-history.ts")
        const lent = lendHistory(messages)
        return lent.takeBack(await engine.compress(lent.messages, options))
      } catch (error) {
        log.warning(`the context engine ${engine.name} failed in compress: ${errorMessage(error)}`)
        return await builtin.compress(messages, options)
      }
    },
    updateModel: (model) => {
      builtin.updateModel(model)
      attempt(
        "updateModel",
        () => engine.updateModel(model),
        () => undefined,
      )
    },
  }
}
