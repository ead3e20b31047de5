import { compactCount } from "../../base/compact-count.ts"
import { promptTokens, type Usage } from "../../protocol/usage.ts"
import { nextRequestUsage } from "./cost.ts"

/** What decides whether a session may ask once more. */
export interface TokenLimitState {
  /** `model.max_session_tokens`; null allows any number. */
  readonly limit: number | null
  /** All calls of the session so far, read and written, from a cache or not. */
  readonly used: Usage
  /** The last call; undefined before the first. */
  readonly last: Usage | undefined
  /** What the next request holds by its length. */
  readonly estimatedTokens: number
}

const SETTING = "model.max_session_tokens"
const WARNING_SHARE = 0.8

/** Why the next request must not be sent: it would pass the limit before the model has said a word. Undefined when it may. */
export function tokenRefusal({ limit, used, last, estimatedTokens }: TokenLimitState): string | undefined {
  if (limit === null) return undefined
  const known = last === undefined ? 0 : promptTokens(nextRequestUsage(last))
  const spent = allTokens(used)
  if (spent < limit && spent + Math.max(known, estimatedTokens) <= limit) return undefined
  return `this session has used ${compactCount(spent)} tokens and ${SETTING} allows ${compactCount(limit)}; raise it to go on`
}

/** A sentence from four fifths of the limit on; the caller says it once. */
export function tokenWarning({ limit, used }: Pick<TokenLimitState, "limit" | "used">): string | undefined {
  const spent = allTokens(used)
  return limit === null || spent < WARNING_SHARE * limit
    ? undefined
    : `this session has used ${compactCount(spent)} of the ${compactCount(limit)} tokens that ${SETTING} allows`
}

function allTokens(usage: Usage): number {
  return promptTokens(usage) + usage.output
}
