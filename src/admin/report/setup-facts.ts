import { readdirSync, readFileSync } from "node:fs"
import { arch, platform, release } from "node:os"
import { chooseModelFor } from "../../app/services/model-sources.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { readAuth } from "../../config/auth-file.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import { maskAddressPasswords, maskSecret, PROVIDER_KEY_VARIABLES } from "../../config/secrets.ts"
import { suppressedVariables } from "../../config/stored-logins.ts"
import { configuredProfile } from "../../policy/permission-profile.ts"
import { runningGateway } from "../gateway-process.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** The release that runs. */
export interface ProgramFacts {
  readonly version: string
  readonly build: string
}

/** How a home is set up, for `status` and `dump`. Contains no secret. */
export interface SetupFacts extends ProgramFacts, ServiceFacts {
  readonly system: string
  readonly runtime: string
  readonly profile: string
  readonly home: string
  readonly model: ConfiguredModelFacts
  readonly terminalBackend: string
  /** The variable that overrides the setting, if one does. */
  readonly terminalOverride: string | undefined
  readonly permissionProfile: string
  readonly toolsets: readonly string[]
  readonly mcpServers: number
  readonly memoryProvider: string
  readonly platforms: readonly string[]
  readonly skills: number
  readonly logins: readonly { readonly provider: string; readonly expiresAt: string | undefined }[]
  readonly keys: readonly KeyFacts[]
}

/** A variable that may contain the key of a provider. */
export type KeyFacts =
  | { readonly name: string; readonly state: "missing" }
  /** `removed`: the user has disabled the key with `hermes auth remove`. */
  | { readonly name: string; readonly state: "set" | "removed"; readonly masked: string }

/** The services that belong to a home. */
export interface ServiceFacts {
  readonly gatewayPid: number | undefined
  /** Scheduled jobs. */
  readonly jobs: { readonly active: number; readonly total: number }
}

/** The model that a new session would use. */
export type ConfiguredModelFacts =
  | {
      readonly kind: "chosen"
      readonly provider: string
      readonly model: string
      readonly address: string
      readonly keySource: string
      readonly demo: boolean
    }
  | { readonly kind: "unusable"; readonly reason: string }

export function collectSetup(loaded: LoadedHome, program: ProgramFacts): SetupFacts {
  const { home, config, environment } = loaded
  return {
    ...program,
    ...serviceFacts(home),
    system: `${platform()} ${release()} ${arch()}`,
    runtime: `node ${process.versions.node}`,
    profile: home.profile,
    home: home.display(),
    model: modelFacts(loaded),
    terminalBackend: config.get("terminal.backend"),
    terminalOverride: (environment.get("TERMINAL_ENV") ?? "") === "" ? undefined : "TERMINAL_ENV",
    permissionProfile: configuredProfile(config),
    toolsets: config.get("toolsets"),
    mcpServers: Object.keys(config.get("mcp_servers")).length,
    memoryProvider: config.get("memory.provider") || "built-in",
    platforms: platformNames(config, environment),
    skills: countSkills(home.file("skills")),
    logins: storedLogins(home),
    keys: keyFacts(loaded),
  }
}

export function serviceFacts(home: Home): ServiceFacts {
  return { gatewayPid: runningGateway(home), jobs: countJobs(home.file("cron", "jobs.json")) }
}

export function modelFacts(home: LoadedHome): ConfiguredModelFacts {
  const chosen = chooseModelFor(home, {})
  if (!chosen.ok) return { kind: "unusable", reason: chosen.error.message }
  const { runtime, demoByDefault } = chosen.value
  return {
    kind: "chosen",
    provider: runtime.provider,
    model: runtime.model,
    address: maskAddressPasswords(runtime.baseUrl),
    keySource: runtime.credentialSource,
    demo: demoByDefault,
  }
}

function keyFacts({ home, environment }: LoadedHome): readonly KeyFacts[] {
  const suppressed = suppressedVariables(home)
  return PROVIDER_KEY_VARIABLES.map((name) => {
    const value = environment.get(name) ?? ""
    if (value === "") return { name, state: "missing" }
    return { name, state: suppressed.has(name) ? "removed" : "set", masked: maskSecret(value) }
  })
}

const PLATFORM_TOKENS: Readonly<Record<string, string>> = {
  telegram: "TELEGRAM_BOT_TOKEN",
  discord: "DISCORD_BOT_TOKEN",
  slack: "SLACK_BOT_TOKEN",
  signal: "SIGNAL_ACCOUNT",
  matrix: "MATRIX_ACCESS_TOKEN",
  mattermost: "MATTERMOST_TOKEN",
  whatsapp: "WHATSAPP_ENABLED",
  email: "EMAIL_ADDRESS",
  webhook: "WEBHOOK_ENABLED",
}

function platformNames(config: Config, environment: Environment): readonly string[] {
  const fromVariables = Object.entries(PLATFORM_TOKENS).flatMap(([name, variable]) =>
    (environment.get(variable) ?? "") === "" ? [] : [name],
  )
  const configured = Object.entries(config.get("platforms")).flatMap(([name, entry]) =>
    isRecord(entry) && entry["enabled"] === true ? [name] : [],
  )
  return [...new Set([...fromVariables, ...configured])].toSorted()
}

function countJobs(path: string): { readonly active: number; readonly total: number } {
  const document = parseJson(readText(path))
  const list = isRecord(document) ? document["jobs"] : document
  const jobs = Array.isArray(list) ? list.filter(isRecord) : []
  return { active: jobs.filter((job) => job["enabled"] !== false).length, total: jobs.length }
}

function countSkills(directory: string): number {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.name === "SKILL.md")
      .length
  } catch {
    // A home without skills has no such directory.
    return 0
  }
}

function storedLogins(home: Home): SetupFacts["logins"] {
  const { store } = readAuth(home)
  return Object.entries(store.providers).map(([provider, state]) => {
    const expires = state["expires_at"]
    if (typeof expires === "string") return { provider, expiresAt: expires }
    if (typeof expires !== "number") return { provider, expiresAt: undefined }
    return { provider, expiresAt: new Date(expires > 1e11 ? expires : expires * 1000).toISOString() }
  })
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // A missing file means that nothing is set up; `doctor` reports files that cannot be read.
    return ""
  }
}
