import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import { caBundleFields, withoutCaBundle } from "./login-trust.ts"
import type { TokenSet } from "./oauth-token.ts"
import {
  defaultLabel,
  entryTree,
  isExternalSecret,
  isManual,
  parseEntry,
  UNTRIED,
  type PooledCredential,
} from "./pooled-credential.ts"
import { changeLogin, loginSource, type LoginLocation, type StoredLogin } from "./stored-login.ts"

/** Adds an API key that the user entered. Adding the same key again only changes its label. */
export async function addKey(
  location: LoginLocation,
  { key, label }: { readonly key: string; readonly label: string | undefined },
): Promise<Result<string>> {
  return await edit(location, (login) => {
    const entries = parsed(login)
    const known = entries.find((entry) => entry.accessToken === key && !isExternalSecret(entry.source))
    const fallback = known?.label ?? freeLabel("key", entries)
    const named = label ?? fallback
    const entry: PooledCredential = {
      ...(known ?? fresh("manual", { authType: "api_key", priority: entries.length })),
      label: named,
      accessToken: key,
      state: UNTRIED,
    }
    return { login: { ...login, entries: replaced(login.entries, entry) }, label: named }
  })
}

/**
 * Stores a login. The first one becomes the provider's main login; later ones join the pool. It replaces a dead main login and a
 * login with the same label.
 */
export async function addLogin(
  location: LoginLocation,
  {
    tokens,
    label,
    ...details
  }: {
    readonly tokens: TokenSet
    readonly label: string | undefined
    readonly flow: "device_code" | "loopback_pkce"
    readonly clientId: string
    /** The CA bundle used for this login. */
    readonly bundle?: string
  },
): Promise<Result<string>> {
  const loginFields = {
    ...tokens.fields,
    client_id: details.clientId,
    ...(details.bundle === undefined ? {} : caBundleFields(details.bundle)),
  }
  return await edit(location, (login) => {
    const entries = parsed(login)
    const named = label ?? defaultLabel(tokens.accessToken, details.flow)
    const main = login.state === undefined ? undefined : loginSource(login.state)
    const replaceable = entries.find(
      (entry) =>
        entry.authType === "oauth" &&
        !isExternalSecret(entry.source) &&
        (entry.label === named || (entry.source === main && entry.state.status === "dead")),
    )
    const isMain = replaceable === undefined ? login.state === undefined : replaceable.source === main
    const source = isMain ? details.flow : `manual:${details.flow}`
    const base = replaceable ?? fresh(source, { authType: "oauth", priority: entries.length })
    const entry: PooledCredential = {
      ...base,
      source,
      label: named,
      accessToken: tokens.accessToken,
      ...(tokens.refreshToken === undefined ? {} : { refreshToken: tokens.refreshToken }),
      state: UNTRIED,
      extraFields: { ...withoutCaBundle(base.extraFields), ...loginFields },
    }
    const state = {
      access_token: tokens.accessToken,
      refresh_token: tokens.refreshToken ?? "",
      ...loginFields,
      source,
    }
    const changed: StoredLogin = {
      ...login,
      entries: replaced(login.entries, entry),
      suppressed: login.suppressed.filter((suppressed) => suppressed !== source),
      ...(isMain && { state, activeProvider: login.activeProvider ?? location.key }),
    }
    return { login: changed, label: named }
  })
}

/**
 * Removes a credential, together with the login it belongs to. A secret from the environment or the settings is suppressed, so that
 * it is not picked up again.
 */
export async function deleteCredential(
  location: LoginLocation,
  target: { readonly id: string; readonly source: string },
): Promise<Result<StoredLogin>> {
  return await changeLogin(location, (login) => {
    const entries = login.entries.filter((tree) => tree["id"] !== target.id)
    const isMain = login.state !== undefined && loginSource(login.state) === target.source
    const { state: _removed, ...rest } = login
    const kept = isMain ? { ...rest, state: undefined } : login
    return {
      ...kept,
      entries,
      activeProvider: isMain && login.activeProvider === location.key ? null : login.activeProvider,
      suppressed: isManual(target.source) ? login.suppressed : [...new Set([...login.suppressed, target.source])],
    }
  })
}

/** Clears the failures and cooldowns of all exhausted credentials. Returns how many there were. */
export async function clearCooldowns(location: LoginLocation): Promise<Result<number>> {
  let count = 0
  const changed = await changeLogin(location, (login) => ({
    ...login,
    entries: login.entries.map((tree) => {
      const entry = parseEntry(tree)
      if (entry === undefined || entry.state.status !== "exhausted") return tree
      count += 1
      return { ...tree, ...CLEAN_STATE }
    }),
  }))
  return changed.ok ? ok(count) : changed
}

/** Removes every login of a provider; API keys stay. Returns how many there were. */
export async function deleteLogins(location: LoginLocation): Promise<Result<number>> {
  let count = 0
  const changed = await changeLogin(location, (login) => {
    const entries = login.entries.filter((tree) => tree["auth_type"] !== "oauth" || isExternalEntry(tree))
    count = login.entries.length - entries.length
    if (count === 0 && login.state !== undefined) count = 1
    const activeProvider = login.activeProvider === location.key ? null : login.activeProvider
    return { ...login, entries, state: undefined, activeProvider }
  })
  return changed.ok ? ok(count) : changed
}

const CLEAN_STATE = {
  last_status: null,
  last_status_at: null,
  last_error_code: null,
  last_error_reason: null,
  last_error_message: null,
  last_error_reset_at: null,
}

async function edit(
  location: LoginLocation,
  change: (login: StoredLogin) => { readonly login: StoredLogin; readonly label: string },
): Promise<Result<string>> {
  let label = ""
  const written = await changeLogin(location, (login) => {
    const changed = change(login)
    label = changed.label
    return changed.login
  })
  return written.ok ? ok(label) : fail(written.error)
}

function parsed(login: StoredLogin): readonly PooledCredential[] {
  return login.entries.flatMap((tree) => parseEntry(tree) ?? [])
}

function fresh(source: string, options: Pick<PooledCredential, "authType" | "priority">): PooledCredential {
  return {
    ...options,
    id: randomHex(3),
    label: "",
    source,
    accessToken: "",
    state: UNTRIED,
    requestCount: 0,
    extraFields: {},
  }
}

function replaced(entries: readonly Tree[], entry: PooledCredential): readonly Tree[] {
  const tree = entryTree(entry)
  return entries.some(({ id }) => id === entry.id)
    ? entries.map((old) => (old["id"] === entry.id ? tree : old))
    : [...entries, tree]
}

function freeLabel(stem: string, entries: readonly PooledCredential[]): string {
  const taken = new Set(entries.map(({ label }) => label))
  for (let number = 1; ; number += 1) if (!taken.has(`${stem} ${number}`)) return `${stem} ${number}`
}

function isExternalEntry(tree: Tree): boolean {
  const source = tree["source"]
  return typeof source === "string" && isExternalSecret(source)
}
