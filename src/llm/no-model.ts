import { WITHOUT_SERVER } from "./choose-model.ts"
import type { ChosenModel } from "./choose-model.ts"
import type { ModelClient, ModelRuntime } from "./model.ts"

const RUNTIME: ModelRuntime = {
  provider: "none",
  model: "no model",
  wire: "in-process",
  baseUrl: "",
  contextLength: 200_000,
  credentialSource: "none needed",
  billingMode: "demo",
}

/**
 * Stands for a model in a conversation whose settings name none that can be used, so that the user can choose one there. The problem
 * is a clause that names the fix.
 */
export function noModel(problem: string): ChosenModel {
  return { ...WITHOUT_SERVER, runtime: RUNTIME, problem }
}

/** Fails every request. Sessions send none; auxiliary tasks may. */
export function createNoModelClient(problem: string): ModelClient {
  return {
    runtime: RUNTIME,
    beginTurn: () => undefined,
    // oxlint-disable-next-line require-yield
    stream: async function* () {
      return {
        kind: "failed",
        failure: {
          reason: "auth",
          status: null,
          message: problem,
          detail: "",
          retryable: false,
          compress: false,
          rotateCredential: false,
          fallback: false,
        },
      }
    },
    close: () => undefined,
  }
}
