import { isRecord } from "../base/json.ts"

/** One entry of `mcp_servers`, checked and complete. */
export interface ServerSettings {
  readonly name: string
  readonly enabled: boolean
  readonly target: StdioTarget | HttpTarget
  /** Limit for one tool call. */
  readonly timeoutMs: number
  readonly connectTimeoutMs: number
  /** Several calls may run at once. */
  readonly parallel: boolean
  /** The server's own statement that a tool only reads counts. */
  readonly trustAnnotations: boolean
  readonly tools: ToolFilter
  readonly sampling: SamplingSettings
}

export interface StdioTarget {
  readonly kind: "stdio"
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface HttpTarget {
  readonly kind: "http"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** `auto` tries streamable HTTP first. */
  readonly transport: "auto" | "http" | "sse"
  readonly oauth?: OAuthSettings
  /** False accepts any certificate; a text is the path of a CA file. */
  readonly tlsVerify: boolean | string
  readonly clientCertificate?: string
  readonly clientKey?: string
}

export interface OAuthSettings {
  readonly clientId?: string
  readonly clientSecret?: string
  /** Address of a document that describes this client, for servers that take such an address as the client id. */
  readonly clientMetadataUrl?: string
  readonly scope?: string
  readonly redirectPort?: number
  readonly clientName: string
  readonly timeoutMs: number
}

export interface ToolFilter {
  /** Only these tools; undefined means all. */
  readonly include?: readonly string[]
  readonly exclude: readonly string[]
  /** Offer the server's resources. */
  readonly resources: boolean
  /** Offer the server's prompts. */
  readonly prompts: boolean
}

/** What a server may ask the model for. */
export interface SamplingSettings {
  readonly enabled: boolean
  readonly model?: string
  readonly allowedModels: readonly string[]
  readonly maxTokens: number
  readonly timeoutMs: number
  readonly maxPerMinute: number
  readonly maxToolRounds: number
}

export interface ReadServers {
  readonly servers: readonly ServerSettings[]
  /** Sentences for the user about entries that cannot be used or contradict themselves. */
  readonly problems: readonly string[]
}

/** Reads the setting `mcp_servers`. An entry that cannot be used is left out with a problem; the others stay. */
export function readServers(entries: Readonly<Record<string, unknown>>): ReadServers {
  const problems: string[] = []
  const servers = Object.entries(entries).flatMap(([name, entry]) => {
    const problem = (text: string): void => {
      problems.push(`mcp_servers.${name}: ${text}`)
    }
    if (!isRecord(entry)) {
      problem("is not a mapping; give it a command or a url")
      return []
    }
    const target = readTarget(name, entry, problem)
    if (target === undefined) return []
    return [
      {
        name,
        enabled: entry["enabled"] !== false && entry["disabled"] !== true,
        target,
        timeoutMs: seconds(entry["timeout"], 120),
        connectTimeoutMs: seconds(entry["connect_timeout"], 60),
        parallel: entry["supports_parallel_tool_calls"] === true,
        trustAnnotations: entry["trust_annotations"] === true,
        tools: readFilter(entry["tools"]),
        sampling: readSampling(entry["sampling"]),
      },
    ]
  })
  return { servers, problems }
}

type Problem = (text: string) => void

function readTarget(
  name: string,
  entry: Record<string, unknown>,
  problem: Problem,
): ServerSettings["target"] | undefined {
  const command = text(entry["command"])
  const url = text(entry["url"])
  if (url !== undefined) {
    if (command !== undefined) problem("has a url and a command; the url is used")
    return readHttpTarget(name, { ...entry, url }, problem)
  }
  if (command === undefined) {
    problem("has neither a command nor a url")
    return undefined
  }
  const cwd = text(entry["cwd"])
  return {
    kind: "stdio",
    command,
    args: texts(entry["args"]),
    env: textMap(entry["env"]),
    ...(cwd === undefined ? {} : { cwd }),
  }
}

function readHttpTarget(
  name: string,
  entry: Record<string, unknown> & { readonly url: string },
  problem: Problem,
): HttpTarget | undefined {
  const { url } = entry
  const parsed = URL.parse(url)
  if (parsed === null || !["http:", "https:"].includes(parsed.protocol)) {
    problem(`the url ${JSON.stringify(url)} is not an http or https address`)
    return undefined
  }
  const certificate = text(entry["client_cert"])
  const key = text(entry["client_key"])
  const verify = entry["ssl_verify"]
  const isOAuth = entry["auth"] === "oauth" || isRecord(entry["oauth"])
  return {
    kind: "http",
    url,
    headers: textMap(entry["headers"]),
    transport: transportOf(entry["transport"] ?? entry["type"]),
    ...(isOAuth ? { oauth: readOAuth(name, entry["oauth"]) } : {}),
    tlsVerify: typeof verify === "boolean" || typeof verify === "string" ? verify : true,
    ...(certificate === undefined ? {} : { clientCertificate: certificate }),
    ...(key === undefined ? {} : { clientKey: key }),
  }
}

function transportOf(value: unknown): HttpTarget["transport"] {
  if (value === "sse") return "sse"
  return value === "http" || value === "streamable-http" || value === "streamableHttp" ? "http" : "auto"
}

function readOAuth(name: string, value: unknown): OAuthSettings {
  const entry = isRecord(value) ? value : {}
  const clientId = text(entry["client_id"])
  const clientSecret = text(entry["client_secret"])
  const metadataUrl = text(entry["client_metadata_url"])
  const scope = text(entry["scope"])
  const port = entry["redirect_port"]
  return {
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(metadataUrl === undefined ? {} : { clientMetadataUrl: metadataUrl }),
    ...(scope === undefined ? {} : { scope }),
    ...(typeof port === "number" && Number.isInteger(port) && port > 0 && port < 65_536 ? { redirectPort: port } : {}),
    clientName: text(entry["client_name"]) ?? `Hermes (${name})`,
    timeoutMs: seconds(entry["timeout"], 300),
  }
}

function readFilter(value: unknown): ToolFilter {
  const entry = isRecord(value) ? value : {}
  const include = texts(entry["include"])
  return {
    ...(include.length === 0 ? {} : { include }),
    exclude: texts(entry["exclude"]),
    resources: entry["resources"] !== false,
    prompts: entry["prompts"] !== false,
  }
}

function readSampling(value: unknown): SamplingSettings {
  const entry = isRecord(value) ? value : {}
  const model = text(entry["model"])
  return {
    enabled: entry["enabled"] !== false,
    ...(model === undefined ? {} : { model }),
    allowedModels: texts(entry["allowed_models"]),
    maxTokens: positive(entry["max_tokens_cap"], 4096),
    timeoutMs: seconds(entry["timeout"], 30),
    maxPerMinute: positive(entry["max_rpm"], 10),
    maxToolRounds: positive(entry["max_tool_rounds"], 5),
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined
}

function texts(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return typeof value === "string" && value !== "" ? [value] : []
  return value.flatMap((item) => (typeof item === "string" || typeof item === "number" ? [String(item)] : []))
}

/** YAML reads `PORT: 8080` as a number. */
function textMap(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      typeof item === "string" || typeof item === "number" || typeof item === "boolean" ? [[key, String(item)]] : [],
    ),
  )
}

function positive(value: unknown, fallback: number): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : fallback
}

function seconds(value: unknown, fallback: number): number {
  return positive(value, fallback) * 1000
}
