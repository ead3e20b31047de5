import { isRecord } from "../../base/json.ts"
import { LANGUAGE_SERVERS } from "./server-table.ts"
import type { LanguageServer } from "./server-table.ts"

/** A server with what the person has set up for it in `lsp.servers`. */
export interface ConfiguredServer extends LanguageServer {
  /** Program and arguments in place of the table's; the program may be a name or a path. */
  readonly command?: readonly string[]
  /** Started outside the sandbox too, although it runs parts of the project. */
  readonly trusted: boolean
  readonly environment: Readonly<Record<string, string>>
  readonly initializationOptions: Readonly<Record<string, unknown>>
}

export interface ServerSettings {
  readonly servers: readonly ConfiguredServer[]
  /** What in `lsp.servers` was not understood, as sentences. */
  readonly problems: readonly string[]
}

/** The table of servers with `lsp.servers` laid over it. A name that is not in the table is a server of the person's own. */
export function configureServers(settings: Readonly<Record<string, unknown>>): ServerSettings {
  const problems: string[] = []
  const known = LANGUAGE_SERVERS.flatMap((server) => configured(server, settings[server.name], problems))
  const names = new Set(LANGUAGE_SERVERS.map(({ name }) => name))
  const own = Object.entries(settings).flatMap(([name, given]) =>
    names.has(name) ? [] : configured(ownServer(name, given, problems), given, problems),
  )
  return { servers: [...own, ...known], problems }
}

function configured(server: LanguageServer | undefined, given: unknown, problems: string[]): ConfiguredServer[] {
  if (server === undefined) return []
  const base = { ...server, trusted: false, environment: {}, initializationOptions: {} }
  if (given === undefined || given === null) return [base]
  if (!isRecord(given)) {
    problems.push(`lsp.servers.${server.name} must be a mapping`)
    return [base]
  }
  if (given["disabled"] === true || given["enabled"] === false) return []
  const command = commandOf(given)
  const { settings, env, initialization_options: options } = given
  return [
    {
      ...base,
      ...(command === undefined ? {} : { command }),
      trusted: given["trusted"] === true,
      environment: isRecord(env) ? textEntries(env) : {},
      initializationOptions: isRecord(options) ? options : {},
      settings: { ...server.settings, ...(isRecord(settings) ? settings : {}) },
    },
  ]
}

/** One line is split at spaces; a program with a space in its path is given as a list. */
function commandOf(given: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const { command, args } = given
  const words = typeof command === "string" ? command.split(/\s+/u) : Array.isArray(command) ? command.map(String) : []
  const all = [...words.filter((word) => word !== ""), ...(Array.isArray(args) ? args.map(String) : [])]
  return all.length === 0 ? undefined : all
}

function ownServer(name: string, given: unknown, problems: string[]): LanguageServer | undefined {
  const extensions = isRecord(given) && Array.isArray(given["extensions"]) ? given["extensions"].map(String) : []
  if (!isRecord(given) || commandOf(given) === undefined || extensions.length === 0) {
    if (!isRecord(given) || given["disabled"] !== true) {
      problems.push(`lsp.servers.${name} is no server that Hermes knows; give it \`command\` and \`extensions\``)
    }
    return undefined
  }
  const { language, root_markers: roots } = given
  const id = typeof language === "string" ? language : name
  return {
    name,
    languages: Object.fromEntries(extensions.map((one) => [one.startsWith(".") ? one : `.${one}`, id])),
    programs: [],
    roots: Array.isArray(roots) ? roots.map(String) : [],
    install: { kind: "by-hand", how: `install what lsp.servers.${name}.command names` },
  }
}

function textEntries(mapping: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(mapping).flatMap(([name, value]) =>
      /^\w+$/u.test(name) && (typeof value === "string" || typeof value === "number") ? [[name, String(value)]] : [],
    ),
  )
}
