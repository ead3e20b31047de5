import { stringField } from "../../base/json.ts"
import { fingerprint } from "../../base/random-and-hash.ts"
import type { Environment } from "../../config/environment.ts"
import type { Config } from "../../config/load-config.ts"
import type { CredentialOrigin } from "../credential.ts"
import { findProvider } from "../providers.ts"
import { shouldForget } from "./cooldown.ts"
import { poolKey, providerSettings } from "./pool-key.ts"
import {
  defaultLabel,
  isExternalSecret,
  parseEntry,
  secretFingerprint,
  UNTRIED,
  type PooledCredential,
} from "./pooled-credential.ts"
import { adoptNewer, loginSource, loginTokens, type StoredLogin } from "./stored-login.ts"
import { isUsableKey } from "./usable-key.ts"

function originOf(source: string): CredentialOrigin {
  if (source.startsWith("env:")) return "environment"
  return isExternalSecret(source) ? "settings" : "stored"
}

export interface SourceOptions {
  readonly provider: string
  readonly login: StoredLogin
  readonly environment: Environment
  readonly config: Config
  /** Epoch seconds. */
  readonly now: number
  /** Only credentials from these origins; a custom server must not receive the provider's key. */
  readonly origins?: readonly CredentialOrigin[]
}

/** Returns all credentials of a provider in order of priority. The same secret from two origins counts once. */
export function collectEntries(options: SourceOptions): readonly PooledCredential[] {
  const { login, now, origins } = options
  const stored = login.entries
    .flatMap((tree) => parseEntry(tree) ?? [])
    .filter((entry) => !shouldForget(entry, now))
    .toSorted((a, b) => a.priority - b.priority)
  const found = [
    ...loginEntry(options, stored),
    ...externalSecrets(options).map((secret) => externalEntry(secret, stored)),
  ].filter(({ source }) => !login.suppressed.includes(source))
  const fresh = new Map(found.map((entry) => [entry.source, entry]))
  const known = stored.flatMap((entry) => {
    const current = fresh.get(entry.source)
    if (current?.id === entry.id) return [current]
    // The variable or setting that held the secret is gone.
    return isExternalSecret(entry.source) ? [] : [entry]
  })
  const added = found.filter((entry) => !known.includes(entry))
  const distinct = withoutDuplicates([...known, ...added])
  return distinct
    .filter(({ source }) => origins === undefined || origins.includes(originOf(source)))
    .map((entry, priority) => ({ ...entry, priority }))
}

/** Returns the pool entry of the provider's main login, with its current tokens. */
function loginEntry(
  { provider, config, login, now }: SourceOptions,
  stored: readonly PooledCredential[],
): PooledCredential[] {
  if (login.state === undefined) return []
  const source = loginSource(login.state)
  const known = stored.find((entry) => entry.source === source)
  if (known !== undefined) return [adoptNewer(known, { ...login, entries: [] }, now) ?? known]
  const tokens = loginTokens(login.state)
  const accessToken = stringField(tokens, "access_token") ?? ""
  if (accessToken === "") return []
  const entry = parseEntry({
    ...tokens,
    id: entryId(poolKey(provider, config), source),
    label: stringField(tokens, "label") ?? defaultLabel(accessToken, source),
    auth_type: "oauth",
    source,
  })
  if (entry === undefined) return []
  const { tokens: _nested, ...rest } = entry.extraFields
  return [{ ...entry, extraFields: rest }]
}

interface ExternalSecret {
  readonly key: string
  readonly source: string
  readonly secret: string
}

function externalSecrets({ provider, environment, config }: SourceOptions): readonly ExternalSecret[] {
  const { name, fields } = providerSettings(provider, config)
  const key = poolKey(provider, config)
  const builtIn = findProvider(key)
  const named = [fields["key_env"], fields["api_key_env"]].filter((value) => typeof value === "string")
  const variables = [...named, ...(builtIn?.keyVariables ?? [])].map((variable) => ({
    source: `env:${variable}`,
    secret: environment.get(variable),
  }))
  const keyList = fields["api_keys"]
  const settings = [
    { source: `config:providers.${name}.api_key`, secret: fields["api_key"] },
    ...(Array.isArray(keyList) ? keyList : []).map((secret: unknown, index) => ({
      source: `config:providers.${name}.api_keys.${index}`,
      secret,
    })),
    ...(isNamedBySettings(provider, config)
      ? [{ source: "config:model.api_key", secret: config.get("model.api_key") }]
      : []),
  ]
  return [...variables, ...settings].flatMap(({ source, secret }) =>
    typeof secret === "string" && isUsableKey(secret) ? [{ key, source, secret: secret.trim() }] : [],
  )
}

/** `model.api_key` belongs to the provider that the settings name, and to no other. */
function isNamedBySettings(provider: string, config: Config): boolean {
  const named = config.get("model.provider")
  const effective = (named === "auto" || named === "") && config.get("model.base_url") !== "" ? "custom" : named
  return poolKey(effective, config) === poolKey(provider, config)
}

/** Returns the entry of an external secret with its stored state; a changed secret starts with a clean state. */
function externalEntry({ key, source, secret }: ExternalSecret, stored: readonly PooledCredential[]): PooledCredential {
  const known = stored.find((entry) => entry.source === source)
  if (known === undefined) {
    return {
      id: entryId(key, source),
      label: source.slice(source.indexOf(":") + 1),
      authType: secret.startsWith(ANTHROPIC_LOGIN_PREFIX) ? "oauth" : "api_key",
      priority: 0,
      source,
      accessToken: secret,
      state: UNTRIED,
      requestCount: 0,
      extraFields: {},
    }
  }
  const same =
    known.secretFingerprint === undefined
      ? known.accessToken === secret
      : known.secretFingerprint === secretFingerprint(secret)
  return { ...known, accessToken: secret, ...(same ? {} : { state: UNTRIED }) }
}

/** Login tokens that users put into a variable; they are sent as a bearer token, not as an API key. */
const ANTHROPIC_LOGIN_PREFIX = "sk-ant-oat"

/** The same in every process, so that two processes agree on an entry before either has stored it. */
function entryId(key: string, source: string): string {
  return fingerprint(`${key} ${source}`).slice(0, 6)
}

function withoutDuplicates(entries: readonly PooledCredential[]): readonly PooledCredential[] {
  const seen = new Set<string>()
  return entries.filter(({ accessToken }) => {
    if (accessToken === "") return true
    if (seen.has(accessToken)) return false
    seen.add(accessToken)
    return true
  })
}
