import { readFileSync } from "node:fs"

import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import { isEffort } from "../../llm/model.ts"
import type { ModelClient, Sampling } from "../../llm/model.ts"
import { openModel } from "../../llm/open-model.ts"
import type { OpenModelOptions } from "../../llm/open-model.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { fallbackModels, openProviderPool } from "./model-sources.ts"
import type { Services } from "./services.ts"

/** Opens a client for a model with the settings, credentials and fallbacks of this home. */
export async function openModelClient(
  chosen: ChosenModel,
  shared: Services,
  limits: Partial<Pick<OpenModelOptions, "maxAttempts" | "fallbacks" | "images">> = {},
): Promise<Result<ModelClient>> {
  const { config, redactor } = shared
  const registerSecrets = (values: readonly string[]): void => {
    redactor.addSecrets(values)
  }
  return await openModel(chosen, {
    ...shared,
    userHome: shared.home.userHome,
    random: Math.random,
    maxAttempts: Math.max(1, config.get("agent.api_max_retries")),
    pool: (provider, origins) => openProviderPool(provider, { ...shared, registerSecrets, origins }),
    registerSecrets,
    fallbacks: fallbackModels(shared),
    guardrail: config.get("bedrock.guardrail"),
    awsRegion: config.get("bedrock.region"),
    runProgram: async (words, how) => {
      const { runHelperProgram } = await import("../../exec/helper-program.ts")
      return await runHelperProgram(words, { ...how, inherited: shared.environment.toObject() })
    },
    openRouter: {
      routing: config.get("provider_routing"),
      minCodingScore: config.get("openrouter.min_coding_score"),
      ...(config.get("openrouter.response_cache")
        ? { responseCacheTtl: config.get("openrouter.response_cache_ttl") }
        : {}),
    },
    ...(await demoScript(shared.environment)),
    ...limits,
  })
}

/** The sampling parameters of every request of a session. */
export function samplingFor(id: SessionId, { config }: Services, ownEffort = ""): Sampling {
  const effort = ownEffort === "" ? config.get("agent.reasoning_effort") : ownEffort
  const maxOutputTokens = config.get("model.max_tokens")
  return {
    conversationId: id,
    cacheTtl: config.get("prompt_caching.cache_ttl"),
    ...(isEffort(effort) ? { effort } : {}),
    ...(maxOutputTokens === null ? {} : { maxOutputTokens }),
  }
}

async function demoScript(environment: Environment): Promise<{ readonly demoScript?: unknown }> {
  const path = environment.get("HERMES_DEMO_SCRIPT")
  if (path === undefined || path === "") return {}
  const { parse } = await import("yaml")
  return { demoScript: parse(readFileSync(path, "utf8")) }
}
