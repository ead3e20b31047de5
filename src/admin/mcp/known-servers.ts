import type { NewServer } from "./change-servers.ts"

/** A server that can be added by its name. */
export interface KnownServer {
  readonly name: string
  readonly summary: string
  readonly entry: Pick<NewServer, "url" | "command" | "args">
  /** `oauth`: a login in the browser; `header`: a key, which the user is asked for. */
  readonly auth?: "oauth" | "header"
  /** Arguments that only the user can choose, as they are shown: `DIRECTORY…`. */
  readonly needs?: string
}

/** Servers of their projects and vendors. Addresses and package names are theirs; nothing is contacted before the user adds one. */
export const KNOWN_SERVERS: readonly KnownServer[] = [
  {
    name: "filesystem",
    summary: "reads and writes files below the directories that you name",
    entry: npm("@modelcontextprotocol/server-filesystem"),
    needs: "DIRECTORY…",
  },
  {
    name: "memory",
    summary: "a knowledge graph in a local file",
    entry: npm("@modelcontextprotocol/server-memory"),
  },
  {
    name: "sequential-thinking",
    summary: "a scratch pad for step-by-step reasoning",
    entry: npm("@modelcontextprotocol/server-sequential-thinking"),
  },
  { name: "playwright", summary: "controls a browser", entry: npm("@playwright/mcp@latest") },
  { name: "fetch", summary: "fetches web pages as Markdown", entry: python("mcp-server-fetch") },
  { name: "git", summary: "reads and changes git repositories", entry: python("mcp-server-git") },
  { name: "time", summary: "current time and time zones", entry: python("mcp-server-time") },
  {
    name: "github",
    summary: "repositories, issues and pull requests; needs a personal access token",
    entry: { url: "https://api.githubcopilot.com/mcp/" },
    auth: "header",
  },
  {
    name: "deepwiki",
    summary: "documentation of public repositories",
    entry: { url: "https://mcp.deepwiki.com/mcp" },
  },
  { name: "linear", summary: "issues and projects", entry: { url: "https://mcp.linear.app/mcp" }, auth: "oauth" },
  { name: "notion", summary: "pages and databases", entry: { url: "https://mcp.notion.com/mcp" }, auth: "oauth" },
  { name: "sentry", summary: "errors and releases", entry: { url: "https://mcp.sentry.dev/mcp" }, auth: "oauth" },
]

function npm(name: string): KnownServer["entry"] {
  return { command: "npx", args: ["-y", name] }
}

function python(name: string): KnownServer["entry"] {
  return { command: "uvx", args: [name] }
}
