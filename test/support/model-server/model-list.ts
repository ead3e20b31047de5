import type { IncomingHttpHeaders } from "node:http"

import { CREATED } from "./wire.ts"

/** The vendors' lists of models; undefined for a path that is none of them. */
export function modelList(
  path: string,
  headers: IncomingHttpHeaders,
  models: readonly string[] = ["scripted-model"],
): unknown {
  const bare = path.split("?", 1)[0] ?? path
  if (bare.endsWith("/v1beta/models")) {
    return {
      models: models.map((id) => ({
        name: `models/${id}`,
        displayName: id,
        supportedGenerationMethods: ["generateContent"],
      })),
    }
  }
  if (!bare.endsWith("/v1/models")) return undefined
  if (headers["anthropic-version"] !== undefined) {
    const created_at = new Date(CREATED * 1000).toISOString()
    return {
      data: models.map((id) => ({ type: "model", id, display_name: id, created_at })),
      has_more: false,
      first_id: models.at(0) ?? null,
      last_id: models.at(-1) ?? null,
    }
  }
  return { object: "list", data: models.map((id) => ({ id, object: "model", created: CREATED, owned_by: "scripted" })) }
}
