import type { WirePlace } from "./wire.ts"

/** Who speaks Responses here: the vendors differ in what they accept, and none can read another's encrypted reasoning. */
export interface CodexEndpoint {
  readonly vendor: "xai" | "github" | "codex-backend" | "other"
  /** Stamped on stored items as `_issuer_kind`; the words are shared with the P-edition. */
  readonly issuerKind: string
}

export function codexEndpoint(place: WirePlace): CodexEndpoint {
  const { provider, host } = place
  if (provider === "xai" || provider === "xai-oauth" || isHost(host, "x.ai")) {
    return { vendor: "xai", issuerKind: "xai_responses" }
  }
  if (provider === "copilot" || isHost(host, "githubcopilot.com") || isHost(host, "models.github.ai")) {
    return { vendor: "github", issuerKind: "github_responses" }
  }
  if (provider === "openai-codex" || isHost(host, "chatgpt.com")) {
    return { vendor: "codex-backend", issuerKind: "codex_backend" }
  }
  return { vendor: "other", issuerKind: `other:${plainUrl(place.baseUrl)}` }
}

function isHost(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}

/** Without credentials and query: the stamp goes to disk. */
function plainUrl(baseUrl: string): string {
  const url = URL.parse(baseUrl)
  return url === null ? "" : `${url.origin}${url.pathname.replace(/\/+$/, "")}`
}
