import { isRecord } from "../../base/json.ts"
import { LANGUAGE_SERVERS } from "./server-table.ts"
import type { LanguageServer } from "./server-table.ts"

/** A server with the user's settings from `lsp.servers`. */
export interface ConfiguredServer extends LanguageServer {
  /** Program and arguments that override the table's; the program may be a name or a path. */
  readonly command?: readonly string[]
  /** The user allows it to run outside the sandbox although it executes project code. */
  readonly trusted: boolean
  readonly environment: Readonly<Record<string, string>>
  readonly initializationOptions: Readonly<Record<string, unknown>>
}

export interface ConfiguredServers {
  readonly servers: readonly ConfiguredServer[]
  /** Messages about invalid entries of `lsp.servers`. */
  readonly problems: readonly string[]
}

/** Merges `lsp.servers` into the table of servers. A name that is not in the table defines a custom server. */
export function configureServers(settings: Readonly<Record<string, unknown>>): ConfiguredServers {
  const problems: string[] = []
  const known = LANGUAGE_SERVERS.flatMap((server) => configured(server, settings[server.name], problems))
  const names = new Set(LANGUAGE_SERVERS.map(({ name }) => name))
  const custom = Object.entries(settings).flatMap(([name, entry]) =>
    names.has(name) ? [] : configured(customServer(name, entry, problems), entry, problems),
  )
  return { servers: [...custom, ...known], problems }
}

function configured(server: LanguageServer | undefined, entry: unknown, problems: string[]): ConfiguredServer[] {
  if (server === undefined) return []
  const base = { ...server, trusted: false, environment: {}, initializationOptions: {} }
  if (entry === undefined || entry === null) return [base]
  if (!isRecord(entry)) {
    problems.push(`lsp.servers.${server.name} must be a mapping`)
    return [base]
  }
  if (entry["disabled"] === true || entry["enabled"] === false) return []
  const command = commandOf(entry)
  const { settings, env, initialization_options: options } = entry
  return [
    {
      ...base,
      ...(command === undefined ? {} : { command }),
      trusted: entry["trusted"] === true,
      environment: isRecord(env) ? textEntries(env) : {},
      initializationOptions: isRecord(options) ? options : {},
      settings: { ...server.settings, ...(isRecord(settings) ? settings : {}) },
    },
  ]
}

/** Splits a string at spaces; a program with a space in its path must be given as a list. */
function commandOf(entry: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const { command, args } = entry
  const words = typeof command === "string" ? command.split(/\s+/u) : Array.isArray(command) ? command.map(String) : []
  const all = [...words.filter((word) => word !== ""), ...(Array.isArray(args) ? args.map(String) : [])]
  return all.length === 0 ? undefined : all
}

function customServer(name: string, entry: unknown, problems: string[]): LanguageServer | undefined {
  const extensions = isRecord(entry) && Array.isArray(entry["extensions"]) ? entry["extensions"].map(String) : []
  if (!isRecord(entry) || commandOf(entry) === undefined || extensions.length === 0) {
    if (!isRecord(entry) || entry["disabled"] !== true) {
      problems.push(`lsp.servers.${name} is not a known server; define it with \`command\` and \`extensions\``)
    }
    return undefined
  }
  const { language, root_markers: roots } = entry
  const id = typeof language === "string" ? language : name
  return {
    name,
    languages: Object.fromEntries(extensions.map((one) => [one.startsWith(".") ? one : `.${one}`, id])),
    programs: [],
    rootMarkers: Array.isArray(roots) ? roots.map(String) : [],
    install: { kind: "manual", instructions: `install the program that lsp.servers.${name}.command names` },
  }
}

function textEntries(mapping: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(mapping).flatMap(([name, value]) =>
      /^\w+$/u.test(name) && (typeof value === "string" || typeof value === "number") ? [[name, String(value)]] : [],
    ),
  )
}
