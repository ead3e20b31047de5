import { isRecord, stringField } from "../../base/json.ts"
import { ok, type Result } from "../../base/result.ts"
import { authOwner, readAuth, updateAuth, type AuthContext } from "../../config/auth-file.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import { okState } from "./cooldown.ts"
import { isExternalSecret, isManual, type PooledCredential } from "./pooled-credential.ts"
import { parseTimestamp } from "../failure/reset-time.ts"

/** The credentials of one provider in `auth.json`. */
export interface StoredLogin {
  readonly entries: readonly Tree[]
  /** The provider's main OAuth login, if there is one. */
  readonly state: Tree | undefined
  /** Sources that the user removed; they are not picked up again. */
  readonly suppressed: readonly string[]
  readonly activeProvider: string | null
}

/** The home whose `auth.json` holds a provider's credentials, and their key in it. */
export interface LoginLocation extends AuthContext {
  readonly key: string
}

export function locateLogin(key: string, context: AuthContext): LoginLocation {
  return { ...context, key, home: authOwner(context.home, { provider: key, environment: context.environment }) }
}

export function readLogin(location: LoginLocation): StoredLogin & { readonly warnings: readonly string[] } {
  const { store, warnings } = readAuth(location.home)
  return { ...loginIn(store, location.key), warnings }
}

/** Reads the file again under the lock, applies `change` and writes it. The rest of the file stays unchanged. */
export async function changeLogin(
  location: LoginLocation,
  change: (login: StoredLogin) => StoredLogin,
): Promise<Result<StoredLogin>> {
  const written = await updateAuth(location, (store) => {
    const login = change(loginIn(store, location.key))
    const suppressed = isRecord(store.suppressedSources) ? store.suppressedSources : {}
    const { [location.key]: _entries, ...otherPools } = store.credentialPool
    const { [location.key]: _state, ...otherStates } = store.providers
    const { [location.key]: _sources, ...otherSuppressed } = suppressed
    const sources = { ...otherSuppressed, ...(login.suppressed.length > 0 && { [location.key]: login.suppressed }) }
    return {
      ...store,
      activeProvider: login.activeProvider,
      credentialPool: { ...otherPools, ...(login.entries.length > 0 && { [location.key]: login.entries }) },
      providers: { ...otherStates, ...(login.state !== undefined && { [location.key]: login.state }) },
      suppressedSources:
        store.suppressedSources === undefined && Object.keys(sources).length === 0 ? undefined : sources,
    }
  })
  return written.ok ? ok(loginIn(written.value.store, location.key)) : written
}

/** The OAuth flow of a login; the pool entry with the same source belongs to it. */
export function loginSource(state: Tree): string {
  return stringField(state, "source") ?? "device_code"
}

/** Returns the login with its tokens at the top level; some logins nest them under `tokens`. */
export function loginTokens(state: Tree): Tree {
  return isRecord(state["tokens"]) ? { ...state, ...state["tokens"] } : state
}

export function withLoginTokens(state: Tree, tokens: Tree): Tree {
  if (!isRecord(state["tokens"])) return { ...state, ...tokens }
  const { access_token: access, refresh_token: refresh, ...times } = tokens
  return { ...state, ...times, tokens: { ...state["tokens"], access_token: access, refresh_token: refresh } }
}

/** True when the entry represents the provider's main login, so that both must hold the same tokens. */
export function belongsToLogin(entry: PooledCredential, login: StoredLogin): boolean {
  if (login.state === undefined || isManual(entry.source) || isExternalSecret(entry.source)) return false
  return entry.source === loginSource(login.state)
}

/**
 * Returns the entry with newer tokens that another process has stored, and without its old failures; undefined when there are
 * none. A refresh token works once, so only the other process's result is usable.
 */
export function adoptNewer(entry: PooledCredential, login: StoredLogin, now: number): PooledCredential | undefined {
  const own = login.entries.find((tree) => tree["id"] === entry.id)
  const shared = login.state !== undefined && belongsToLogin(entry, login) ? loginTokens(login.state) : undefined
  const newer = [own, shared]
    .filter((tree) => tree !== undefined)
    .filter((tree) => differs(tree, entry) && !isOlder(tree, entry.extraFields))
    .toSorted((a, b) => (refreshedAt(b) ?? 0) - (refreshedAt(a) ?? 0))[0]
  if (newer === undefined) return undefined
  const { refreshToken: _spent, ...kept } = entry
  const refreshToken = stringField(newer, "refresh_token") ?? ""
  const fields = Object.fromEntries(Object.entries(newer).filter(([name]) => TOKEN_FIELDS.has(name)))
  return {
    ...kept,
    accessToken: stringField(newer, "access_token") ?? "",
    ...(refreshToken === "" ? {} : { refreshToken }),
    state: okState(now),
    extraFields: { ...entry.extraFields, ...fields },
  }
}

const TOKEN_FIELDS = new Set([
  "expires_at",
  "expires_at_ms",
  "expires_in",
  "last_refresh",
  "obtained_at",
  "token_type",
  "scope",
  "agent_key",
  "agent_key_expires_at",
  "inference_base_url",
])

function differs(tree: Tree, entry: PooledCredential): boolean {
  const access = stringField(tree, "access_token") ?? ""
  if (access === "") return false
  return access !== entry.accessToken || (stringField(tree, "refresh_token") ?? "") !== (entry.refreshToken ?? "")
}

function isOlder(tree: Tree, than: Tree): boolean {
  const [theirs, ours] = [refreshedAt(tree), refreshedAt(than)]
  return theirs !== undefined && ours !== undefined && theirs < ours
}

function refreshedAt(tree: Tree): number | undefined {
  return parseTimestamp(tree["last_refresh"]) ?? parseTimestamp(tree["obtained_at"])
}

function loginIn(store: ReturnType<typeof readAuth>["store"], key: string): StoredLogin {
  const suppressed = isRecord(store.suppressedSources) ? store.suppressedSources[key] : undefined
  return {
    entries: store.credentialPool[key] ?? [],
    state: store.providers[key],
    suppressed: Array.isArray(suppressed) ? suppressed.filter((source) => typeof source === "string") : [],
    activeProvider: store.activeProvider,
  }
}
