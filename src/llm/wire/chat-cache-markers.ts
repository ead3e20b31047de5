import { isRecord } from "../../base/json.ts"

/** The last messages that carry a marker; together with the system prompt a request has four. */
export function markedFrom(messages: number, { system }: { readonly system: boolean }): number {
  return Math.max(0, messages - (system ? MARKERS - 1 : MARKERS))
}

const MARKERS = 4

export interface CacheMarker {
  readonly type: "ephemeral"
  readonly ttl?: "1h"
}

/** Five minutes is what a marker without a time means. */
export function cacheMarker(ttl: "5m" | "1h"): CacheMarker {
  return ttl === "1h" ? { type: "ephemeral", ttl } : { type: "ephemeral" }
}

/**
 * A copy of a wire message with the marker on its last part. Gateways translate no marker on a tool's result, so that one
 * stays as it is.
 */
export function withMarker(
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
