import { isRecord } from "../../../base/json.ts"

/**
 * The index of the first message with a cache marker. A request may have four markers, including the system prompt's.
 */
export function firstMarkedIndex(messages: number, { system }: { readonly system: boolean }): number {
  return Math.max(0, messages - (system ? MAX_MARKERS - 1 : MAX_MARKERS))
}

const MAX_MARKERS = 4

export interface CacheMarker {
  readonly type: "ephemeral"
  readonly ttl?: "1h"
}

/** A marker without `ttl` lasts five minutes. */
export function cacheMarker(ttl: "5m" | "1h"): CacheMarker {
  return ttl === "1h" ? { type: "ephemeral", ttl } : { type: "ephemeral" }
}

/**
 * A copy of the message with the marker on its last part. Tool results get none, because gateways do not translate it
 * there.
 */
export function withCacheMarker(
  message: Readonly<Record<string, unknown>>,
  marker: CacheMarker,
): Readonly<Record<string, unknown>> {
  const content = message["content"]
  if (message["role"] === "tool") return message
  if (typeof content === "string" && content !== "") {
    return { ...message, content: [{ type: "text", text: content, cache_control: marker }] }
  }
  const last: unknown = Array.isArray(content) ? content.at(-1) : undefined
  if (!Array.isArray(content) || !isRecord(last)) return { ...message, cache_control: marker }
  return { ...message, content: [...content.slice(0, -1), { ...last, cache_control: marker }] }
}
