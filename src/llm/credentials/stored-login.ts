import { isRecord, stringField } from "../../base/json.ts"
import { ok, type Result } from "../../base/result.ts"
import { authOwner, readAuth, updateAuth, type AuthContext } from "../../config/auth-file.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import { okState } from "./cooldown.ts"
import { isBorrowed, isManual, type PooledCredential } from "./pooled-credential.ts"
import { parseTimestamp } from "../failure/reset-time.ts"

/** What `auth.json` holds about one provider. */
export interface StoredLogin {
  readonly entries: readonly Tree[]
  /** The login made through the provider's own pages, if there is one. */
  readonly state: Tree | undefined
  /** Sources the person removed: they are not picked up again. */
  readonly suppressed: readonly string[]
  readonly activeProvider: string | null
}

/** The file that holds this provider's credentials; reads and writes of a pool all go there. */
export interface LoginPlace extends AuthContext {
  readonly key: string
}

export function loginPlace(key: string, context: AuthContext): LoginPlace {
  return { ...context, key, home: authOwner(context.home, { provider: key, environment: context.environment }) }
}

export function readLogin(place: LoginPlace): StoredLogin & { readonly warnings: readonly string[] } {
  const { store, warnings } = readAuth(place.home)
  return { ...loginIn(store, place.key), warnings }
}

/** Reads again under the lock, applies `change`, writes. Nothing else in the file is touched. */
export async function changeLogin(
  place: LoginPlace,
  change: (login: StoredLogin) => StoredLogin,
): Promise<Result<StoredLogin>> {
  const written = await updateAuth(place, (store) => {
    const login = change(loginIn(store, place.key))
    const suppressed = isRecord(store.suppressedSources) ? store.suppressedSources : {}
    const { [place.key]: _entries, ...otherPools } = store.credentialPool
    const { [place.key]: _state, ...otherStates } = store.providers
    const { [place.key]: _sources, ...otherSuppressed } = suppressed
    const sources = { ...otherSuppressed, ...(login.suppressed.length > 0 && { [place.key]: login.suppressed }) }
    return {
      ...store,
      activeProvider: login.activeProvider,
      credentialPool: { ...otherPools, ...(login.entries.length > 0 && { [place.key]: login.entries }) },
      providers: { ...otherStates, ...(login.state !== undefined && { [place.key]: login.state }) },
      suppressedSources:
        store.suppressedSources === undefined && Object.keys(sources).length === 0 ? undefined : sources,
    }
  })
  return written.ok ? ok(loginIn(written.value.store, place.key)) : written
}

/** How the login of `state` came about; it names the pool entry that belongs to it. */
export function loginSource(state: Tree): string {
  return stringField(state, "source") ?? "device_code"
}

/** Some logins keep their tokens one level down. */
export function loginTokens(state: Tree): Tree {
  return isRecord(state["tokens"]) ? { ...state, ...state["tokens"] } : state
}

export function withLoginTokens(state: Tree, tokens: Tree): Tree {
  if (!isRecord(state["tokens"])) return { ...state, ...tokens }
  const { access_token: access, refresh_token: refresh, ...times } = tokens
  return { ...state, ...times, tokens: { ...state["tokens"], access_token: access, refresh_token: refresh } }
}

/** Whether the entry is the pool's view of the provider's login, so that both have to hold the same tokens. */
export function belongsToLogin(entry: PooledCredential, login: StoredLogin): boolean {
  if (login.state === undefined || isManual(entry.source) || isBorrowed(entry.source)) return false
  return entry.source === loginSource(login.state)
}

/**
 * The entry with tokens that another process has stored since, and without its old failures; undefined when the store has
 * nothing newer. Refresh tokens work once, so using the other process's result is the only way to go on.
 */
export function adoptNewer(entry: PooledCredential, login: StoredLogin, now: number): PooledCredential | undefined {
  const own = login.entries.find((tree) => tree["id"] === entry.id)
  const shared = login.state !== undefined && belongsToLogin(entry, login) ? loginTokens(login.state) : undefined
  const newer = [own, shared]
    .filter((tree) => tree !== undefined)
    .filter((tree) => differs(tree, entry) && !isOlder(tree, entry.rest))
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
    rest: { ...entry.rest, ...fields },
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
