import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"

import type { ModelServer } from "../support/model-server/server.ts"

/**
 * The official vendor clients, connected to a scripted server. Every option that they would read from the environment is
 * set, so the developer's credentials are not used, and requests to other hosts are rejected.
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
    fetch: fetchOnlyFrom(server),
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
    fetch: fetchOnlyFrom(server),
  })
}

function fetchOnlyFrom(server: ModelServer): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    if (new URL(url).origin !== server.url) throw new Error(`tests must not send requests to ${url}`)
    return await fetch(input, init)
  }
}
