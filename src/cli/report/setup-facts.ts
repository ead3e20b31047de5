import { readdirSync, readFileSync } from "node:fs"
import { arch, platform, release } from "node:os"
import { storedProviders } from "../../config/stored-logins.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { readAuth } from "../../config/auth-file.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load.ts"
import { maskAddressPasswords, maskSecret, PROVIDER_KEY_VARIABLES } from "../../config/secrets.ts"
import { chooseModel } from "../../llm/choose-model.ts"
import { gatewayProcess } from "../gateway-process.ts"
import type { Settings } from "../settings-access.ts"
import { buildId, VERSION } from "../version.ts"

/** What is set up, for `status`, `dump` and `doctor`. Holds no secret. */
export interface SetupFacts {
  readonly version: string
  readonly build: string
  readonly system: string
  readonly runtime: string
  readonly profile: string
  readonly home: string
  readonly model: ModelFacts
  readonly terminalBackend: string
  /** The variable that beats the setting, where one does. */
  readonly terminalOverride: string | undefined
  readonly permissionProfile: string
  readonly toolsets: readonly string[]
  readonly mcpServers: number
  readonly memoryProvider: string
  readonly platforms: readonly string[]
  readonly gatewayPid: number | undefined
  readonly jobs: { readonly active: number; readonly total: number }
  readonly skills: number
  readonly logins: readonly { readonly provider: string; readonly expiresAt: string | undefined }[]
  readonly keys: readonly { readonly name: string; readonly masked: string | undefined }[]
}

export type ModelFacts =
  | {
      readonly kind: "chosen"
      readonly provider: string
      readonly model: string
      readonly address: string
      readonly keySource: string
      readonly demo: boolean
    }
  | { readonly kind: "unusable"; readonly reason: string }

export function collectSetup(home: Home, { config, environment }: Settings): SetupFacts {
  return {
    version: VERSION,
    build: buildId(),
    system: `${platform()} ${release()} ${arch()}`,
    runtime: `node ${process.versions.node}`,
    profile: home.profile,
    home: home.display(),
    model: modelFacts({ config, environment, home }),
    terminalBackend: config.get("terminal.backend"),
    terminalOverride: (environment.get("TERMINAL_ENV") ?? "") === "" ? undefined : "TERMINAL_ENV",
    permissionProfile: config.get("approvals.profile") ?? "default",
    toolsets: config.get("toolsets"),
    mcpServers: Object.keys(config.get("mcp_servers")).length,
    memoryProvider: config.get("memory.provider") || "built-in",
    platforms: platformNames(config, environment),
    gatewayPid: gatewayProcess(home),
    jobs: countJobs(home.file("cron", "jobs.json")),
    skills: countSkills(home.file("skills")),
    logins: logins(home),
    keys: PROVIDER_KEY_VARIABLES.map((name) => {
      const value = environment.get(name) ?? ""
      return { name, masked: value === "" ? undefined : maskSecret(value) }
    }),
  }
}

function modelFacts({
  config,
  environment,
  home,
}: {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
}): ModelFacts {
  const chosen = chooseModel({}, { config, environment, stored: storedProviders(home) })
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
    // A home without skills has no such folder.
    return 0
  }
}

function logins(home: Home): SetupFacts["logins"] {
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
    // What is not there is not set up; `doctor` tells about files that cannot be read.
    return ""
  }
}
