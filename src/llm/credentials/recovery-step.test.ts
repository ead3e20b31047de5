import { expect, test } from "vitest"
import type { FailureReason } from "../failure/failure.ts"
import { nextRecoveryStep, type CredentialFailure, type RecoveryState } from "./recovery-step.ts"

const pool = (size: number, available = size, provider = "openrouter") => ({
  provider,
  size: () => size,
  available: () => available,
})

const failure = (reason: FailureReason, more: Partial<CredentialFailure> = {}): CredentialFailure => ({
  reason,
  status: null,
  rotateCredential: true,
  ...more,
})

function state(more: Partial<RecoveryState> = {}): RecoveryState {
  return {
    provider: "openrouter",
    baseUrl: "https://openrouter.ai/api/v1",
    pool: pool(2),
    credential: { id: "a", refreshable: false, exhausted: false },
    rateLimited: new Set(),
    refreshed: new Set(),
    ...more,
  }
}

function nous(more: Partial<RecoveryState> = {}): RecoveryState {
  return state({ provider: "nous", pool: pool(2, 2, "nous"), ...more })
}

const login = { id: "a", refreshable: true, exhausted: false }
const again = new Set(["a"])

test.each<readonly [string, CredentialFailure, RecoveryState, string]>([
  ["no pool", failure("rate_limit"), state({ pool: undefined }), "none"],
  ["a pool of the provider before a switch", failure("billing"), state({ pool: pool(2, 2, "nous") }), "none"],
  ["billing", failure("billing", { status: 402 }), state(), "rotate"],
  ["billing with one key", failure("billing", { status: 402 }), state({ pool: pool(1) }), "rotate"],
  ["credit of a Nous login", failure("billing", { status: 402 }), nous({ credential: login }), "refresh"],
  [
    "a model the Nous login has not paid for",
    failure("billing", { status: 404 }),
    nous({ credential: login }),
    "refresh",
  ],
  [
    "a Nous login that was already refreshed",
    failure("billing", { status: 402 }),
    nous({ credential: login, refreshed: again }),
    "rotate",
  ],
  ["a Nous key", failure("billing", { status: 402 }), nous(), "rotate"],
  ["a credit failure without a status", failure("billing"), nous({ credential: login }), "rotate"],
  ["credit of another login", failure("billing", { status: 402 }), state({ credential: login }), "rotate"],
  ["first rate limit", failure("rate_limit", { status: 429 }), state(), "retry-same"],
  ["second rate limit", failure("rate_limit", { status: 429 }), state({ rateLimited: again }), "rotate"],
  ["rate limit of another key before", failure("rate_limit"), state({ rateLimited: new Set(["b"]) }), "retry-same"],
  ["a used up plan", failure("rate_limit", { errorCode: "usage_limit_reached" }), state(), "rotate"],
  [
    "a key that is already marked",
    failure("rate_limit"),
    state({ credential: { id: "a", refreshable: false, exhausted: true } }),
    "rotate",
  ],
  ["rate limit with one key", failure("rate_limit", { status: 429 }), state({ pool: pool(1) }), "none"],
  ["rate limit without an available key", failure("rate_limit"), state({ pool: pool(2, 0) }), "none"],
  [
    "rate limit of the account, whichever key is used",
    failure("rate_limit"),
    state({ provider: "google-gemini-cli", pool: pool(2, 2, "google-gemini-cli") }),
    "none",
  ],
  ["rate limit of the account, by address", failure("rate_limit"), state({ baseUrl: "cloudcode-pa://x" }), "none"],
  ["a refused key", failure("auth", { status: 401 }), state({ pool: pool(1) }), "rotate"],
  ["a refused login", failure("auth", { status: 401 }), state({ credential: login }), "refresh"],
  [
    "a refused login that was already refreshed",
    failure("auth"),
    state({ credential: login, refreshed: again }),
    "rotate",
  ],
  [
    "a plan without the model",
    failure("auth", { status: 403, rotateCredential: false }),
    state({ credential: login }),
    "none",
  ],
  ["an overloaded server", failure("overloaded", { rotateCredential: false }), state(), "none"],
])("%s", (_name, failed, known, expected) => {
  expect(nextRecoveryStep(failed, known)).toEqual({ kind: expected })
})
