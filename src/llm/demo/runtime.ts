import type { ModelRuntime } from "../model.ts"

/** A file of its own, so that choosing the demo does not load it. */
export const DEMO_RUNTIME: ModelRuntime = {
  provider: "demo",
  model: "hermes-demo",
  wire: "in-process",
  baseUrl: "",
  contextLength: 32_000,
  credentialSource: "none needed",
  billingMode: "demo",
}
