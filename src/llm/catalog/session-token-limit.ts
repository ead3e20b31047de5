import { compactCount } from "../../base/compact-count.ts"
import { promptTokens, type Usage } from "../../protocol/usage.ts"
import { nextRequestUsage } from "./cost.ts"

/** What decides whether a session may send another request. */
export interface TokenLimitState {
  /** `model.max_session_tokens`; null means no limit. */
  readonly limit: number | null
  /** The sum of all calls of the session so far, including cached tokens. */
  readonly used: Usage
  /** The last call; undefined before the first. */
  readonly last: Usage | undefined
  /** The estimated tokens of the next request. */
  readonly estimatedTokens: number
}

const SETTING = "model.max_session_tokens"
const WARNING_SHARE = 0.8

/** Returns why the next request must not be sent: its input alone would exceed the limit. Undefined when it may be sent. */
export function tokenRefusal({ limit, used, last, estimatedTokens }: TokenLimitState): string | undefined {
  if (limit === null) return undefined
  const known = last === undefined ? 0 : promptTokens(nextRequestUsage(last))
  const spent = allTokens(used)
  if (spent < limit && spent + Math.max(known, estimatedTokens) <= limit) return undefined
  return `this session has used ${compactCount(spent)} tokens and ${SETTING} allows ${compactCount(limit)}; raise it to continue`
}

/** Returns a warning from 80 % of the limit on; the caller shows it once. */
export function tokenWarning({ limit, used }: Pick<TokenLimitState, "limit" | "used">): string | undefined {
  const spent = allTokens(used)
  return limit === null || spent < WARNING_SHARE * limit
    ? undefined
    : `this session has used ${compactCount(spent)} of the ${compactCount(limit)} tokens that ${SETTING} allows`
}

function allTokens(usage: Usage): number {
  return promptTokens(usage) + usage.output
}
