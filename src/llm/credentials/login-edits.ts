import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import { storedBundle, withoutBundle } from "./login-trust.ts"
import type { TokenSet } from "./oauth-token.ts"
import {
  defaultLabel,
  entryTree,
  isBorrowed,
  isManual,
  parseEntry,
  UNTRIED,
  type PooledCredential,
} from "./pooled-credential.ts"
import { changeLogin, loginSource, type LoginPlace, type StoredLogin } from "./stored-login.ts"

/** Adds a key a person gave by hand. The same key twice is one entry with the new label. */
export async function addKey(
  place: LoginPlace,
  { key, label }: { readonly key: string; readonly label: string | undefined },
): Promise<Result<string>> {
  return await edit(place, (login) => {
    const entries = parsed(login)
    const known = entries.find((entry) => entry.accessToken === key && !isBorrowed(entry.source))
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
 * Stores a login. The first one is the provider's login; a further one joins the pool. One that is dead, or has the same label,
 * is replaced.
 */
export async function addLogin(
  place: LoginPlace,
  {
    tokens,
    label,
    ...how
  }: {
    readonly tokens: TokenSet
    readonly label: string | undefined
    readonly flow: "device_code" | "loopback_pkce"
    readonly clientId: string
    /** The file of authorities its server was believed by. */
    readonly bundle?: string
  },
): Promise<Result<string>> {
  const told = {
    ...tokens.fields,
    client_id: how.clientId,
    ...(how.bundle === undefined ? {} : storedBundle(how.bundle)),
  }
  return await edit(place, (login) => {
    const entries = parsed(login)
    const named = label ?? defaultLabel(tokens.accessToken, how.flow)
    const main = login.state === undefined ? undefined : loginSource(login.state)
    const replaceable = entries.find(
      (entry) =>
        entry.authType === "oauth" &&
        !isBorrowed(entry.source) &&
        (entry.label === named || (entry.source === main && entry.state.status === "dead")),
    )
    const isMain = replaceable === undefined ? login.state === undefined : replaceable.source === main
    const source = isMain ? how.flow : `manual:${how.flow}`
    const base = replaceable ?? fresh(source, { authType: "oauth", priority: entries.length })
    const entry: PooledCredential = {
      ...base,
      source,
      label: named,
      accessToken: tokens.accessToken,
      ...(tokens.refreshToken === undefined ? {} : { refreshToken: tokens.refreshToken }),
      state: UNTRIED,
      rest: { ...withoutBundle(base.rest), ...told },
    }
    const state = {
      access_token: tokens.accessToken,
      refresh_token: tokens.refreshToken ?? "",
      ...told,
      source,
    }
    const changed: StoredLogin = {
      ...login,
      entries: replaced(login.entries, entry),
      suppressed: login.suppressed.filter((suppressed) => suppressed !== source),
      ...(isMain && { state, activeProvider: login.activeProvider ?? place.key }),
    }
    return { login: changed, label: named }
  })
}

/**
 * Removes a credential. One that is read from a variable or the settings is kept from being picked up again; the login itself
 * goes with its entry.
 */
export async function removeCredential(
  place: LoginPlace,
  target: { readonly id: string; readonly source: string },
): Promise<Result<StoredLogin>> {
  return await changeLogin(place, (login) => {
    const entries = login.entries.filter((tree) => tree["id"] !== target.id)
    const isMain = login.state !== undefined && loginSource(login.state) === target.source
    const { state: _removed, ...rest } = login
    const kept = isMain ? { ...rest, state: undefined } : login
    return {
      ...kept,
      entries,
      activeProvider: isMain && login.activeProvider === place.key ? null : login.activeProvider,
      suppressed: isManual(target.source) ? login.suppressed : [...new Set([...login.suppressed, target.source])],
    }
  })
}

/** Forgets failures and cool-downs of all credentials that can still be used. Gives how many had one. */
export async function resetCooldowns(place: LoginPlace): Promise<Result<number>> {
  let count = 0
  const changed = await changeLogin(place, (login) => ({
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

/** Removes every login of a provider; keys stay. Gives how many there were. */
export async function logOut(place: LoginPlace): Promise<Result<number>> {
  let count = 0
  const changed = await changeLogin(place, (login) => {
    const entries = login.entries.filter((tree) => tree["auth_type"] !== "oauth" || isBorrowedTree(tree))
    count = login.entries.length - entries.length
    if (count === 0 && login.state !== undefined) count = 1
    const activeProvider = login.activeProvider === place.key ? null : login.activeProvider
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
  place: LoginPlace,
  change: (login: StoredLogin) => { readonly login: StoredLogin; readonly label: string },
): Promise<Result<string>> {
  let label = ""
  const written = await changeLogin(place, (login) => {
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
  return { ...options, id: randomHex(3), label: "", source, accessToken: "", state: UNTRIED, requestCount: 0, rest: {} }
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

function isBorrowedTree(tree: Tree): boolean {
  const source = tree["source"]
  return typeof source === "string" && isBorrowed(source)
}
