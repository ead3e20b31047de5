import { isRecord } from "../../base/json.ts"
import { createRedactor } from "../../base/redact.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { editConfig } from "../../config/edit-config.ts"
import { secretValuesIn } from "../../config/secrets.ts"
import { readServers } from "../../mcp/server-settings.ts"
import { suspiciousCommand } from "../../mcp/client/suspicious-command.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { readForeignServers } from "./foreign-servers.ts"
import type { ForeignProgram, ForeignServer, ServerOrigin } from "./foreign-servers.ts"
import { separateSecrets, storeSecrets, variableFor } from "./secret-values.ts"

export interface ImportedServer {
  readonly name: string
  readonly program: ServerOrigin
  readonly file: string
  /** A server of that name was there before. */
  readonly exists?: true
  /** Its command line or address, with secrets masked. Absent when it was not imported. */
  readonly target?: string
  /** Why it was not imported. */
  readonly skipped?: string
  /** Variables of `.env` that now hold its secrets. */
  readonly stored: readonly string[]
  /** Variables that the user still has to set. */
  readonly missing: readonly string[]
  /** Variables of `.env` for secrets that were found, stored or not. */
  readonly secrets: readonly string[]
}

/** Copies the MCP servers of other programs into the settings. Servers that are there already stay as they are. */
export async function importServers(
  loaded: LoadedHome,
  options: { readonly programs: readonly ForeignProgram[]; readonly cwd: string; readonly dryRun: boolean },
): Promise<
  Result<{ readonly servers: readonly ImportedServer[]; readonly problems: readonly string[] }, AdminFailure>
> {
  const { home } = loaded
  const found = await readForeignServers(options.programs, { userHome: home.userHome, cwd: options.cwd })
  const added = await addForeignServers(loaded, found.servers, {
    dryRun: options.dryRun,
    disabled: false,
    secrets: "store",
  })
  return added.ok ? ok({ servers: added.value, problems: found.problems }) : added
}

/** Saves servers of other programs. With `secrets: "leave"`, the settings refer to variables that the user has to set. */
export async function addForeignServers(
  loaded: LoadedHome,
  servers: readonly ForeignServer[],
  options: { readonly dryRun: boolean; readonly disabled: boolean; readonly secrets: "store" | "leave" },
): Promise<Result<readonly ImportedServer[], AdminFailure>> {
  const names = new Set(Object.keys(loaded.config.get("mcp_servers")))
  const imported: ImportedServer[] = []
  for (const server of servers) {
    const { name, program, file } = server
    const nothing = { name, program, file, stored: [], missing: [], secrets: [] }
    const prepared = prepare(server)
    if (names.has(name)) {
      const needed = neededSecrets(prepared, loaded, name)
      const kept = options.secrets === "store" && !options.dryRun ? await storeSecrets(loaded, needed) : ok(undefined)
      if (!kept.ok) return kept
      const secrets = Object.keys(needed)
      const stored = options.secrets === "store" ? secrets : []
      imported.push({ ...nothing, exists: true, skipped: "a server of that name exists already", secrets, stored })
      continue
    }
    const refusal = unusable(server) ?? (options.secrets === "leave" ? secretElsewhere(prepared) : undefined)
    if (refusal !== undefined) {
      imported.push({ ...nothing, skipped: refusal })
      continue
    }
    names.add(name)
    const secrets = Object.keys(prepared.secrets)
    const stored = options.secrets === "store" ? secrets : []
    const missing = variablesIn(prepared.entry).filter(
      (variable) => loaded.environment.get(variable) === undefined && !stored.includes(variable),
    )
    if (!options.dryRun) {
      const kept = options.secrets === "store" ? await storeSecrets(loaded, prepared.secrets) : ok(undefined)
      if (!kept.ok) return kept
      const value = options.disabled ? { ...prepared.entry, enabled: false } : prepared.entry
      const saved = await editConfig(loaded, [{ path: ["mcp_servers", name], value }])
      if (!saved.ok) return saved
    }
    imported.push({ name, program, file, stored, missing, secrets, target: targetOf(prepared) })
  }
  return ok(imported)
}

/** The secrets that an earlier import of the same server left out. */
function neededSecrets(
  { secrets }: Prepared,
  { config, environment }: LoadedHome,
  name: string,
): Readonly<Record<string, string>> {
  const variables = variablesIn(config.get("mcp_servers")[name] ?? {})
  return Object.fromEntries(
    Object.entries(secrets).filter(
      ([variable]) => variables.includes(variable) && environment.get(variable) === undefined,
    ),
  )
}

/** A key in an argument or an address would be copied into the settings. */
function secretElsewhere({ entry }: Prepared): string | undefined {
  const text = JSON.stringify(entry)
  return masked(text, entry) === text
    ? undefined
    : "its command or address contains a key; add it with `hermes mcp add` and a variable of .env"
}

function targetOf({ entry }: Prepared): string {
  const { command, args, url } = entry
  const words = [command, ...(Array.isArray(args) ? args : []), url]
  return masked(words.filter((word) => typeof word === "string").join(" "), entry)
}

function masked(text: string, entry: Prepared["entry"]): string {
  return createRedactor({ enabled: true, secrets: secretValuesIn(entry) }).redact(text)
}

function unusable({ name, entry }: ForeignServer): string | undefined {
  if (!/^[\w.-]{1,64}$/u.test(name) || name === "__proto__") return "its name is not allowed"
  const { servers, problems } = readServers({ [name]: entry })
  const [server] = servers
  if (server === undefined) return problems[0]?.replace(`mcp_servers.${name}: `, "") ?? "it cannot be used"
  return server.target.kind === "stdio" ? suspiciousCommand(server.target) : undefined
}

interface Prepared {
  readonly entry: Record<string, unknown>
  readonly secrets: Readonly<Record<string, string>>
}

/** Secrets go to `.env`, and references of the other program become `${NAME}`. */
function prepare({ name, entry }: ForeignServer): Prepared {
  const translated = translate(entry, name)
  const { env, headers, ...rest } = isRecord(translated) ? translated : {}
  const ownEnv = separateSecrets(name, texts(env), "env")
  const ownHeaders = separateSecrets(name, texts(headers), "headers")
  return {
    entry: {
      ...rest,
      ...(Object.keys(ownEnv.values).length === 0 ? {} : { env: ownEnv.values }),
      ...(Object.keys(ownHeaders.values).length === 0 ? {} : { headers: ownHeaders.values }),
    },
    secrets: { ...ownEnv.secrets, ...ownHeaders.secrets },
  }
}

/** `${env:NAME}` (Cursor, VS Code), `{env:NAME}` (opencode), `${input:id}` (VS Code) and `${NAME:-default}` (Claude Code). */
function translate(value: unknown, server: string): unknown {
  if (typeof value === "string") {
    return value
      .replaceAll(/\$\{env:(\w+)\}/gu, "${$1}")
      .replaceAll(/(?<!\$)\{env:(\w+)\}/gu, "${$1}")
      .replaceAll(/\$\{(\w+):-([^}]*)\}/gu, "$2")
      .replaceAll(/\$\{input:([\w-]+)\}/gu, (_all, id: string) => `\${${variableFor(server, id)}}`)
  }
  if (Array.isArray(value)) return value.map((item) => translate(item, server))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, translate(inner, server)]))
}

function texts(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      typeof item === "string" || typeof item === "number" || typeof item === "boolean" ? [[key, String(item)]] : [],
    ),
  )
}

function variablesIn(value: unknown): readonly string[] {
  return [
    ...new Set(
      JSON.stringify(value)
        .matchAll(/\$\{(\w+)\}/gu)
        .map(([, name = ""]) => name),
    ),
  ]
}
