import type { ModelRuntime } from "../model.ts"

/** In a separate file, so that selecting the demo model does not load its code. */
export const DEMO_RUNTIME: ModelRuntime = {
  provider: "demo",
  model: "hermes-demo",
  wire: "in-process",
  baseUrl: "",
  contextLength: 32_000,
  credentialSource: "none needed",
  billingMode: "demo",
}
