import { join } from "node:path"

import { isRecord, parseJson } from "../../base/json.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { errorMessage, isNotFound } from "../../base/system-error.ts"

const MAX_BYTES = 10_000_000

/** Programs whose MCP servers can be imported. */
export const FOREIGN_PROGRAMS = ["claude-code", "claude-desktop", "codex", "cursor", "vscode", "opencode"] as const
export type ForeignProgram = (typeof FOREIGN_PROGRAMS)[number]

/** OpenClaw is imported as a whole home only. */
export type ServerOrigin = ForeignProgram | "openclaw"

/** A server as another program configures it, in the form of `mcp_servers`. */
export interface ForeignServer {
  readonly name: string
  readonly program: ServerOrigin
  readonly file: string
  readonly entry: Readonly<Record<string, unknown>>
}

export interface ForeignServers {
  readonly servers: readonly ForeignServer[]
  /** Files that exist but cannot be read. */
  readonly problems: readonly string[]
}

interface Locations {
  readonly userHome: string
  readonly cwd: string
}

/** Reads the MCP servers of other programs, from the user's home and from the current directory. */
export async function readForeignServers(
  programs: readonly ForeignProgram[],
  locations: Locations,
): Promise<ForeignServers> {
  const problems: string[] = []
  const servers: ForeignServer[] = []
  for (const program of programs) {
    for (const source of SOURCES[program](locations)) {
      let text: string
      try {
        text = readRegularFile(source.file, { maxBytes: MAX_BYTES }).bytes.toString("utf8")
      } catch (error) {
        if (!isNotFound(error)) problems.push(`${source.file} cannot be read: ${errorMessage(error)}`)
        continue
      }
      const document = source.file.endsWith(".toml") ? await readToml(text) : parseJson(withoutComments(text))
      if (!isRecord(document)) {
        problems.push(`${source.file} is not valid ${source.file.endsWith(".toml") ? "TOML" : "JSON"}`)
        continue
      }
      for (const [name, value] of Object.entries(source.servers(document)))
        if (isRecord(value)) servers.push({ name, program, file: source.file, entry: source.convert(value) })
    }
  }
  return { servers: withoutRepeated(servers), problems }
}

/** The servers in a mapping of another program, such as its `mcpServers`. */
export function foreignServersIn(
  program: "claude-code" | "codex" | "openclaw",
  value: unknown,
  file: string,
): readonly ForeignServer[] {
  const convert = program === "codex" ? convertCodex : convertUsual
  return Object.entries(record(value)).flatMap(([name, entry]) =>
    isRecord(entry) ? [{ name, program, file, entry: convert(entry) }] : [],
  )
}

interface Source {
  readonly file: string
  readonly servers: (document: Record<string, unknown>) => Record<string, unknown>
  readonly convert: (entry: Record<string, unknown>) => Record<string, unknown>
}

const SOURCES: Readonly<Record<ForeignProgram, (locations: Locations) => readonly Source[]>> = {
  "claude-code": ({ userHome, cwd }) => {
    const file = join(userHome, ".claude.json")
    return [
      { file: join(cwd, ".mcp.json"), servers: under("mcpServers"), convert: convertUsual },
      {
        file,
        servers: (document) => under("mcpServers")(record(record(document["projects"])[cwd])),
        convert: convertUsual,
      },
      { file, servers: under("mcpServers"), convert: convertUsual },
    ]
  },
  "claude-desktop": ({ userHome }) =>
    ["Library/Application Support/Claude", ".config/Claude", "AppData/Roaming/Claude"].map((directory) => ({
      file: join(userHome, directory, "claude_desktop_config.json"),
      servers: under("mcpServers"),
      convert: convertUsual,
    })),
  codex: ({ userHome, cwd }) =>
    [join(cwd, ".codex"), join(userHome, ".codex")].map((directory) => ({
      file: join(directory, "config.toml"),
      servers: under("mcp_servers"),
      convert: convertCodex,
    })),
  cursor: ({ userHome, cwd }) =>
    [join(cwd, ".cursor"), join(userHome, ".cursor")].map((directory) => ({
      file: join(directory, "mcp.json"),
      servers: under("mcpServers"),
      convert: convertUsual,
    })),
  vscode: ({ userHome, cwd }) =>
    [
      join(cwd, ".vscode"),
      ...[".config/Code/User", "Library/Application Support/Code/User", "AppData/Roaming/Code/User"].map((directory) =>
        join(userHome, directory),
      ),
    ].map((directory) => ({ file: join(directory, "mcp.json"), servers: under("servers"), convert: convertUsual })),
  opencode: ({ userHome, cwd }) =>
    [cwd, join(userHome, ".config/opencode")].flatMap((directory) =>
      ["opencode.json", "opencode.jsonc"].map((name) => ({
        file: join(directory, name),
        servers: under("mcp"),
        convert: convertOpencode,
      })),
    ),
}

function under(key: string): Source["servers"] {
  return (document) => record(document[key])
}

function record(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}

/** The form that most programs share: `command`, `args` and `env`, or `url` and `headers`. */
function convertUsual(entry: Record<string, unknown>): Record<string, unknown> {
  const { command, args, env, url, headers, cwd, disabled, type } = entry
  return defined({
    command,
    args,
    env,
    url: url ?? entry["serverUrl"],
    headers,
    cwd,
    ...(type === "sse" ? { transport: "sse" } : {}),
    ...(disabled === true || entry["enabled"] === false ? { enabled: false } : {}),
  })
}

function convertCodex(entry: Record<string, unknown>): Record<string, unknown> {
  const { command, args, env, url, cwd, enabled } = entry
  const tokenVariable = entry["bearer_token_env_var"]
  const fromVariables = Object.entries(record(entry["env_http_headers"])).map(([name, variable]) => [
    name,
    `\${${String(variable)}}`,
  ])
  const headers = {
    ...record(entry["http_headers"]),
    ...Object.fromEntries(fromVariables),
    ...(typeof tokenVariable === "string" ? { Authorization: `Bearer \${${tokenVariable}}` } : {}),
  }
  const include = entry["enabled_tools"]
  const exclude = entry["disabled_tools"]
  return defined({
    command,
    args,
    env,
    url,
    cwd,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(enabled === false ? { enabled } : {}),
    connect_timeout: entry["startup_timeout_sec"],
    timeout: entry["tool_timeout_sec"],
    ...(include === undefined && exclude === undefined ? {} : { tools: defined({ include, exclude }) }),
  })
}

/** The command is a list with its arguments, and `{env:NAME}` is a variable. */
function convertOpencode(entry: Record<string, unknown>): Record<string, unknown> {
  const { command, environment, url, headers, enabled } = entry
  const [program, ...args] = Array.isArray(command) ? command : [command]
  return defined({
    ...(program === undefined ? {} : { command: program, args }),
    env: environment,
    url,
    headers,
    ...(enabled === false ? { enabled } : {}),
  })
}

function defined(entry: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined && value !== null))
}

/** The first file that names a server wins: a project before the user's home. */
function withoutRepeated(servers: readonly ForeignServer[]): readonly ForeignServer[] {
  const seen = new Set<string>()
  return servers.filter(({ name }) => {
    if (seen.has(name)) return false
    seen.add(name)
    return true
  })
}

async function readToml(text: string): Promise<unknown> {
  const { parse } = await import("smol-toml")
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** JSON with comments and trailing commas, as editors write it. Text inside strings stays. */
function withoutComments(text: string): string {
  const tokens = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[^]*?\*\//gu
  return text
    .replaceAll(tokens, (token) => (token.startsWith('"') ? token : " "))
    .replaceAll(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/gu, (token) => (token === "," ? "" : token))
}
