import { fileURLToPath } from "node:url"

/** How the fixture server behaves. */
export interface FixtureOptions {
  /** File that gets a line for each start and each call. */
  readonly log?: string
  /** Offers that many generated tools instead of the usual ones. */
  readonly count?: number
  readonly prefix?: string
  /** File with the description of the tool `echo`; read with each listing. */
  readonly descriptionFile?: string
  /** Ends once at the start, when this file does not exist. */
  readonly crashFile?: string
  readonly bad?:
    | "dies"
    | "silent"
    | "refuses"
    | "no-list"
    | "no-ping"
    | "invalid-list"
    | "duplicates"
    | "poison"
    | "poisoned-prompt"
    | "hostile"
  readonly startDelayMs?: number
}

const PROGRAM = fileURLToPath(new URL("fixture-server.ts", import.meta.url))

/** The command line of a fixture server. */
export function fixtureCommand(options: FixtureOptions = {}): {
  readonly command: string
  readonly args: readonly string[]
} {
  return { command: process.execPath, args: [PROGRAM, JSON.stringify(options)] }
}

/** The `mcp_servers` section of a configuration. JSON is valid YAML. */
export function mcpConfig(servers: Readonly<Record<string, object>>): string {
  return `mcp_servers: ${JSON.stringify(servers)}\n`
}
