import { isRecord } from "../../base/json.ts"
import { nearest } from "../../base/nearest-name.ts"
import { ok, type Result } from "../../base/result.ts"
import type { Config } from "../../config/load-config.ts"
import { HTTP_WIRES } from "../../llm/detect-wire.ts"
import { findProvider, PROVIDERS } from "../../llm/providers.ts"
import { invalid, type AdminFailure } from "../failure.ts"
import { parseServerAddress } from "../models/server-address.ts"

/** Refuses a provider, an address or a wire format that no request could use, before it is written. */
export function checkModelValue(path: string, text: string, config: Config): Result<undefined, AdminFailure> {
  const value = text.trim()
  const field = MODEL_SECTION.exec(path)?.groups?.["field"]
  // A template is expanded when the settings are loaded.
  if (field === undefined || value === "" || value.includes("${")) return ok(undefined)
  switch (field) {
    case "provider":
      return checkProvider(path, value, config)
    case "api_mode":
      return checkName(`\`${value}\` is not an API format`, value, ["auto", ...HTTP_WIRES])
    default:
      return parseServerAddress(value) === undefined
        ? invalid(`"${value}" is not an http(s) address, such as http://127.0.0.1:11434/v1`)
        : ok(undefined)
  }
}

const MODEL_SECTION =
  /^(?:model|auxiliary\.[^.]+|providers\.[^.]+|memory\.semantic)\.(?<field>provider|base_url|api_mode)$/u

/** Names that are not providers, by setting. */
const OTHER_CHOICES: Readonly<Record<string, readonly string[]>> = {
  model: ["auto", "demo"],
  auxiliary: ["auto", "main", "none", "openai"],
  memory: ["auto", "openai", "gemini", "ollama"],
}

function checkProvider(path: string, named: string, config: Config): Result<undefined, AdminFailure> {
  const [section = ""] = path.split(".")
  const others = OTHER_CHOICES[section]
  if (others === undefined || others.includes(named.toLowerCase())) return ok(undefined)
  const own = Object.keys(ownProviders(config))
  const bare = named.startsWith("custom:") ? named.slice("custom:".length) : named
  if (own.includes(bare) || findProvider(named) !== undefined) return ok(undefined)
  const names = [...others, ...PROVIDERS.map(({ id }) => id), ...own]
  return checkName(
    `There is no provider \`${named}\`; define one of your own with \`providers.${named}.base_url\` first`,
    named,
    names,
  )
}

function ownProviders(config: Config): Readonly<Record<string, unknown>> {
  const listed = config.lookup("custom_providers")
  const names = Array.isArray(listed)
    ? listed.flatMap((entry: unknown) => (isRecord(entry) && typeof entry["name"] === "string" ? [entry["name"]] : []))
    : []
  return { ...config.get("providers"), ...Object.fromEntries(names.map((name) => [name, true])) }
}

function checkName(problem: string, named: string, names: readonly string[]): Result<undefined, AdminFailure> {
  if (names.includes(named)) return ok(undefined)
  const close = nearest(named, names)
  return invalid(
    close === undefined ? `${problem}. Known: ${names.join(", ")}` : `${problem}. Did you mean \`${close}\`?`,
  )
}
