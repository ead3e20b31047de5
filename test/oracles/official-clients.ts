import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"

import type { ModelServer } from "../support/model-server/server.ts"

/**
 * The vendors' own clients, pointed at a scripted server. What a developer has exported or signed in to stays out: every
 * option that they would otherwise read from the environment is given, and no request leaves for another address.
 */
export function openAiClient(server: ModelServer): OpenAI {
  return new OpenAI({
    baseURL: `${server.url}/v1`,
    apiKey: "dummy-key",
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    logLevel: "off",
    fetch: onlyTo(server),
  })
}

export function anthropicClient(server: ModelServer): Anthropic {
  return new Anthropic({
    baseURL: server.url,
    apiKey: "dummy-key",
    authToken: null,
    webhookKey: null,
    maxRetries: 0,
    logLevel: "off",
    openTelemetry: false,
    fetch: onlyTo(server),
  })
}

function onlyTo(server: ModelServer): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    if (new URL(url).origin !== server.url) throw new Error(`a test may not ask ${url}`)
    return await fetch(input, init)
  }
}
