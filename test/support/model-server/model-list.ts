import type { IncomingHttpHeaders } from "node:http"

import { CREATED } from "./wire.ts"

/** Returns the model list in the vendor's format, or undefined when the path is not a model list. */
export function modelList(
  path: string,
  headers: IncomingHttpHeaders,
  models: readonly string[] = ["scripted-model"],
): unknown {
  const pathname = path.split("?", 1)[0] ?? path
  if (pathname.endsWith("/v1beta/models")) {
    return {
      models: models.map((id) => ({
        name: `models/${id}`,
        displayName: id,
        supportedGenerationMethods: ["generateContent"],
      })),
    }
  }
  if (!pathname.endsWith("/v1/models")) return undefined
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
