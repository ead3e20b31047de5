import { isRecord } from "../base/json.ts"
import { nearest } from "../base/nearest-name.ts"
import { ellipsize } from "../base/text.ts"
import type { ConfigProblem } from "./config-problem.ts"
import type { Tree } from "./document/document-tree.ts"
import { editorKeyProblems } from "./editor-keys.ts"
import { snakeCase } from "./migration/legacy-settings.ts"
import { unknownProfileFix } from "./permission-profiles.ts"
import { CONFIG_VERSION, settingKeys, settingsUnder, type SettingKey, type SettingValue } from "./settings.ts"

/** Finds mistakes in the user's document that span more than one setting. Takes it as written and as expanded. */
export function validateDocument(raw: Tree, effective: Tree): readonly ConfigProblem[] {
  if (Object.keys(raw).length === 0) return []
  return [
    ...newerVersion(raw),
    ...unknownKeys(raw),
    ...unknownApprovals(raw),
    ...misplacedKeys(raw),
    ...customProviders(raw),
    ...providerFields(raw),
    ...fallbackModel(raw),
    ...editorKeyProblems(isRecord(raw["display"]) ? raw["display"]["keys"] : undefined),
    ...writtenValues(raw, effective, []),
  ]
}

/** The version in the file; 0 when there is none or it is not a positive integer. */
export function configVersionOf(raw: Tree): number {
  const version = raw["_config_version"]
  return typeof version === "number" && Number.isInteger(version) && version > 0 ? version : 0
}

function newerVersion(raw: Tree): ConfigProblem[] {
  const version = configVersionOf(raw)
  if (version <= CONFIG_VERSION) return []
  const message = `config.yaml has version ${version}; this release knows ${CONFIG_VERSION} and may not understand all of it`
  return [{ severity: "warning", path: "_config_version", message, fix: "update Hermes" }]
}

/** Keys of earlier releases that are still converted on load. */
const LEGACY: readonly string[] = ["max_turns", "provider", "base_url", "context_length", "model"]
const MISPLACED: readonly string[] = ["base_url", "api_key", "api_mode", "rate_limit_delay"]

function unknownKeys(raw: Tree): ConfigProblem[] {
  return Object.keys(raw)
    .filter((key) => settingsUnder(key).length === 0 && !LEGACY.includes(key) && !MISPLACED.includes(key))
    .map((key) => {
      const similar = nearest(key, new Set(settingKeys().map((known) => known.split(".")[0] ?? known)))
      return {
        severity: "warning",
        path: key,
        message: `\`${key}\` is not a setting of this release`,
        fix: similar === undefined ? "remove it, or check its spelling" : `did you mean \`${similar}\`?`,
      }
    })
}

/** A misspelt key of `approvals` might have been a restriction. */
function unknownApprovals(raw: Tree): ConfigProblem[] {
  const { approvals } = raw
  const known = settingsUnder("approvals").map(([key]) => key.split(".")[1] ?? "")
  const unknown = Object.keys(isRecord(approvals) ? approvals : {}).filter((key) => !known.includes(key))
  const misspelt = Object.keys(raw).filter(
    (key) => settingsUnder(key).length === 0 && nearest(key, ["approvals"]) !== undefined,
  )
  return [
    ...unknown.map((key) => ({ path: `approvals.${key}`, similar: nearest(key, new Set(known)) })),
    ...misspelt.map((key) => ({ path: key, similar: "approvals" })),
  ].map(({ path, similar }) => ({
    severity: "error",
    path,
    message: `\`${path}\` is not a setting, and permissions must not be misread`,
    fix: similar === undefined ? "remove it, or check its spelling" : `did you mean \`${similar}\`?`,
    blocksStart: true,
  }))
}

function misplacedKeys(raw: Tree): ConfigProblem[] {
  return MISPLACED.filter((key) => Object.hasOwn(raw, key)).map((key) => {
    const section = key === "rate_limit_delay" ? "providers.<name>" : "model"
    return {
      severity: "warning",
      path: key,
      message: `\`${key}\` does not belong at the top level`,
      fix: `move it under \`${section}\``,
    }
  })
}

function customProviders(raw: Tree): ConfigProblem[] {
  const written = raw["custom_providers"]
  const path = "custom_providers"
  if (written === undefined || written === null) return []
  if (!Array.isArray(written)) {
    const message = "`custom_providers` must be a list"
    return [
      {
        severity: "error",
        path,
        message,
        fix: "write each one as `- name: my-server` with `base_url: http://host/v1` below it",
      },
    ]
  }
  const entries = written.flatMap((entry: unknown, index): ConfigProblem[] => {
    const missing = ["name", "base_url"].filter((field) => !isRecord(entry) || isBlank(entry[field]))
    return missing.map((field) => ({
      severity: "warning",
      path: `${path}.${index}`,
      message: `entry ${index + 1} of \`custom_providers\` has no \`${field}\``,
      fix: `add \`${field}\` to it`,
    }))
  })
  if (written.length === 0 || !isBlank(raw["model"])) return entries
  const fix = "add `model:` with `default` and `provider`, or run: hermes model"
  return [
    ...entries,
    { severity: "warning", path, message: "providers of your own are set up, but no `model` chooses one", fix },
  ]
}

/** What an entry of `providers` may say. */
const PROVIDER_FIELDS: ReadonlySet<string> = new Set([
  "api",
  "api_key",
  "api_key_env",
  "api_keys",
  "api_mode",
  "base_url",
  "ca_bundle",
  "context_length",
  "default_model",
  "discover_models",
  "extra_body",
  "headers",
  "key_env",
  "model",
  "models",
  "name",
  "oauth",
  "rate_limit_delay",
  "request_timeout_seconds",
  "stale_timeout_seconds",
  "transport",
  "url",
])

function providerFields(raw: Tree): ConfigProblem[] {
  const { providers } = raw
  if (!isRecord(providers)) return []
  return Object.entries(providers).flatMap(([name, entry]) =>
    Object.keys(isRecord(entry) ? entry : {}).flatMap((field): ConfigProblem[] => {
      if (PROVIDER_FIELDS.has(field)) return []
      const path = `providers.${name}.${field}`
      const renamed = snakeCase(field)
      if (PROVIDER_FIELDS.has(renamed)) {
        const message = `\`${path}\` is accepted, but its name is \`${renamed}\``
        return [{ severity: "warning", path, message, fix: `write \`${renamed}\`` }]
      }
      const similar = nearest(renamed, PROVIDER_FIELDS)
      const fix = similar === undefined ? "remove it, or check its spelling" : `did you mean \`${similar}\`?`
      return [{ severity: "warning", path, message: `\`${path}\` is not a setting of this release`, fix }]
    }),
  )
}

function fallbackModel(raw: Tree): ConfigProblem[] {
  const written = raw["fallback_model"]
  const path = "fallback_model"
  if (written === undefined || written === null) return []
  const entries = Array.isArray(written) ? written : [written]
  return entries.flatMap((entry: unknown): ConfigProblem[] => {
    if (!isRecord(entry)) {
      const message = "`fallback_model` must be a mapping, or a list of mappings"
      return [{ severity: "error", path, message, fix: "write `provider:` and `model:` under it" }]
    }
    if (Object.keys(entry).length === 0) return []
    return ["provider", "model"]
      .filter((field) => isBlank(entry[field]))
      .map((field) => ({
        severity: "warning",
        path,
        message: `\`fallback_model\` has no \`${field}\``,
        fix: `add \`${field}\` under it`,
      }))
  })
}

/** Finds settings that contradict each other, whichever layer they come from. */
export function validateSettings(get: GetSetting): readonly ConfigProblem[] {
  return [...unknownPermissionProfile(get), ...ineffectiveNetworkSetting(get)]
}

type GetSetting = <K extends SettingKey>(key: K) => SettingValue<K>

function unknownPermissionProfile(get: GetSetting): readonly ConfigProblem[] {
  const name = get("approvals.profile")
  const fix = name === null ? undefined : unknownProfileFix(name, Object.keys(get("approvals.profiles")))
  if (name === null || fix === undefined) return []
  const path = "approvals.profile"
  const message = `\`${path}\` is ${JSON.stringify(ellipsize(name, MAX_SHOWN_CHARS))}`
  return [{ severity: "error", path, message, fix, blocksStart: true }]
}

const MAX_SHOWN_CHARS = 40

function ineffectiveNetworkSetting(get: GetSetting): readonly ConfigProblem[] {
  const setting = get("terminal.sandbox_network")
  if (setting === true) return []
  const path = "terminal.sandbox_network"
  const backend = get("terminal.backend")
  const problem = { severity: "warning", path, restrictsLess: true } as const
  if (backend !== "local") {
    if (backend === "docker" && !get("terminal.docker_network")) return []
    const message = `\`${path}\` is ${setting}, but commands run in ${backend}, where it has no effect`
    const fix = backend === "docker" ? "set `terminal.docker_network` to false" : "restrict the network there"
    return [{ ...problem, message, fix }]
  }
  if (get("terminal.sandbox") !== "off") return []
  const message = `\`${path}\` is ${setting}, but \`terminal.sandbox\` is off, so commands have network access`
  return [{ ...problem, message, fix: "set `terminal.sandbox` to auto or required" }]
}

/** Checks every value the user wrote, together with its expanded form. */
function writtenValues(raw: unknown, expanded: unknown, path: readonly string[]): ConfigProblem[] {
  if (isRecord(raw)) {
    return Object.entries(raw).flatMap(([key, value]) =>
      writtenValues(value, isRecord(expanded) ? expanded[key] : undefined, [...path, key]),
    )
  }
  if (Array.isArray(raw)) {
    return raw.flatMap((item: unknown, index) =>
      writtenValues(item, Array.isArray(expanded) ? expanded[index] : undefined, [...path, String(index)]),
    )
  }
  if (typeof raw !== "string") return []
  const shown = typeof expanded === "string" ? expanded : raw
  return [...unresolved(shown, path), ...badAddress(shown, path)]
}

const CREDENTIAL = /(?:^|_)(?:api_?key|key|token|secret|password|authorization)$/i

function unresolved(value: string, path: readonly string[]): ConfigProblem[] {
  const [, name] = /\$\{([^${}]+)\}/.exec(value) ?? []
  const key = path.at(-1) ?? ""
  const isCredential = CREDENTIAL.test(key) || path.at(-2) === "headers" || path.at(-2) === "env"
  if (name === undefined || !isCredential) return []
  const dotted = path.join(".")
  const message = `\`${dotted}\` refers to the variable ${name}, which is not set`
  return [{ severity: "warning", path: dotted, message, fix: `set it with: hermes config set ${name} <value>` }]
}

function badAddress(value: string, path: readonly string[]): ConfigProblem[] {
  const key = path.at(-1) ?? ""
  const isAddress =
    ["base_url", "url", "public_url"].includes(key) || (path[0] === "providers" && key === "api" && path.length === 3)
  // A database URL may name a socket, which leaves the host empty; the store checks it.
  if (!isAddress || path[0] === "state" || value === "" || value.includes("${")) return []
  const address = URL.parse(value)
  if (address !== null && address.host !== "") return []
  const dotted = path.join(".")
  const message = `\`${dotted}\` is not a complete URL`
  return [{ severity: "error", path: dotted, message, fix: "write it with scheme and host, such as https://host/v1" }]
}

function isBlank(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  return value === undefined || value === null || value === "" || (isRecord(value) && Object.keys(value).length === 0)
}
