import { isHostBelow } from "../../detect-wire.ts"
import type { WireEndpoint } from "../wire.ts"

/** The vendor behind an endpoint: vendors accept different parameters and cannot decrypt each other's reasoning. */
export interface EndpointTraits {
  readonly vendor: "xai" | "github" | "codex-backend" | "other"
  /** Stored with each item as `_issuer_kind`; the Python edition uses the same values. */
  readonly issuerKind: string
}

export function endpointTraits(endpoint: WireEndpoint): EndpointTraits {
  const { provider, host } = endpoint
  if (provider === "xai" || provider === "xai-oauth" || isHostBelow(host, "x.ai")) {
    return { vendor: "xai", issuerKind: "xai_responses" }
  }
  if (provider === "copilot" || isHostBelow(host, "githubcopilot.com") || isHostBelow(host, "models.github.ai")) {
    return { vendor: "github", issuerKind: "github_responses" }
  }
  if (provider === "openai-codex" || isHostBelow(host, "chatgpt.com")) {
    return { vendor: "codex-backend", issuerKind: "codex_backend" }
  }
  return { vendor: "other", issuerKind: `other:${plainUrl(endpoint.baseUrl)}` }
}

/** Without credentials and query, because the value is stored on disk. */
function plainUrl(baseUrl: string): string {
  const url = URL.parse(baseUrl)
  return url === null ? "" : `${url.origin}${url.pathname.replace(/\/+$/, "")}`
}
