import { sha256Hex } from "../base/random-and-hash.ts"

const MAX_NAME_CHARS = 64
const HASH_CHARS = 8

/** The toolset of a server's tools. */
export function toolsetOf(server: string): string {
  return `mcp-${server}`
}

/** A part of a name as tool names allow it: `my-server.v2` becomes `my_server_v2`. */
export function safePart(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_]/gu, "_")
}

/** The name under which the model calls a tool of a server. A name that is too long or `taken` ends in a hash. */
export function mcpToolName(server: string, tool: string, taken: ReadonlySet<string>): string {
  const name = `mcp_${safePart(server)}_${safePart(tool)}`
  return name.length > MAX_NAME_CHARS || taken.has(name) ? withHash(name, `${server}\n${tool}`) : name
}

function withHash(name: string, source: string): string {
  return `${name.slice(0, MAX_NAME_CHARS - HASH_CHARS - 1)}_${sha256Hex(source).slice(0, HASH_CHARS)}`
}
