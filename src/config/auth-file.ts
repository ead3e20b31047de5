import { readFileSync } from "node:fs"
import { join } from "node:path"
import { writeFileAtomic } from "../base/atomic-file.ts"
import type { Clock } from "../base/clock.ts"
import { FileLockError, withFileLock } from "../base/file-lock.ts"
import { isRecord, parseJson } from "../base/json.ts"
import { keepNumberedCopy } from "../base/kept-copies.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { explainSystemError, isNotFound } from "../base/system-error.ts"
import type { Tree } from "./document/document-tree.ts"
import type { Environment } from "./environment.ts"
import { homeAt, secretMode, type Home } from "./home.ts"

/** The content of `auth.json`. Fields that this release does not know are kept in `unknownFields` and written back. */
export interface AuthStore {
  readonly activeProvider: string | null
  readonly providers: Readonly<Record<string, Tree>>
  readonly credentialPool: Readonly<Record<string, readonly Tree[]>>
  readonly suppressedSources: unknown
  readonly unknownFields: Tree
}

export interface AuthRead {
  readonly store: AuthStore
  readonly warnings: readonly string[]
}

/** The logins of this profile. A provider without one falls back to the root's file; a login here hides the root's completely. */
export function readAuth(home: Home): AuthRead {
  const own = readStore(home.file("auth.json"), home)
  if (home.path === home.root) return { store: own.store, warnings: own.warnings }
  const shared = readStore(join(home.root, "auth.json"), home)
  const hidden = new Set([...Object.keys(own.store.providers), ...Object.keys(own.store.credentialPool)])
  const visible = <T>(map: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(map).filter(([id]) => !hidden.has(id)))
  const store = {
    ...own.store,
    activeProvider: own.store.activeProvider ?? shared.store.activeProvider,
    providers: { ...visible(shared.store.providers), ...own.store.providers },
    credentialPool: { ...visible(shared.store.credentialPool), ...own.store.credentialPool },
  }
  return { store, warnings: [...own.warnings, ...shared.warnings] }
}

/** The home whose `auth.json` holds a provider's logins: the root's if only that one has any, otherwise this profile's. */
export function authOwner(home: Home, options: { readonly provider: string; readonly environment: Environment }): Home {
  if (home.path === home.root) return home
  const has = (path: string): boolean => {
    const { providers, credentialPool } = readStore(path, home).store
    return Object.hasOwn(providers, options.provider) || Object.hasOwn(credentialPool, options.provider)
  }
  if (has(home.file("auth.json")) || !has(join(home.root, "auth.json"))) return home
  return homeAt(home.root, options.environment)
}

export interface AuthContext {
  readonly home: Home
  readonly environment: Environment
  readonly clock: Clock
  readonly signal?: AbortSignal
}

/**
 * Changes this profile's own logins: acquires the lock, reads again, applies `change`, writes. Two processes that refresh
 * different logins at the same time both succeed. `change` is synchronous.
 */
export async function updateAuth(
  context: AuthContext,
  change: (store: AuthStore) => AuthStore,
): Promise<Result<AuthRead>> {
  const { home } = context
  try {
    return await withAuthLock(context, () => {
      const before = readStore(home.file("auth.json"), home)
      if (before.atRisk) return fail(`${before.warnings.join(" ")}; nothing was written`)
      const store = change(before.store)
      writeStore(store, context)
      return ok({ store, warnings: before.warnings })
    })
  } catch (cause) {
    if (cause instanceof FileLockError) return fail(cause.message)
    return fail(`cannot write ${home.display(home.file("auth.json"))}: ${explainSystemError(cause)}`)
  }
}

/** Holds `auth.lock` during longer work, such as refreshing a token; `work` may call `updateAuth`. */
export async function withAuthLock<T>({ home, signal }: AuthContext, work: () => T | Promise<T>): Promise<T> {
  return await withFileLock(
    home.file("auth.lock"),
    { waitMs: 15_000, sharedWithPython: true, ...(signal === undefined ? {} : { signal }) },
    work,
  )
}

const KNOWN_FIELDS: readonly string[] = [
  "version",
  "updated_at",
  "active_provider",
  "providers",
  "credential_pool",
  "suppressed_sources",
]

/** `atRisk`: the file could be neither read nor copied, so writing would destroy its content. */
function readStore(path: string, home: Home): AuthRead & { readonly atRisk: boolean } {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (cause) {
    if (isNotFound(cause)) return { store: parseStore({}), warnings: [], atRisk: false }
    const warning = `cannot read ${home.display(path)}: ${explainSystemError(cause)}; no saved login is used`
    return { store: parseStore({}), warnings: [warning], atRisk: true }
  }
  const value = parseJson(text)
  if (isRecord(value)) return { store: parseStore(value), warnings: [], atRisk: false }
  return { store: parseStore({}), ...keepCorrupt(path, home) }
}

function parseStore(value: Tree): AuthStore {
  const { active_provider: active, providers, credential_pool: pool } = value
  const states = isRecord(providers) ? Object.entries(providers) : []
  const pools = isRecord(pool) ? Object.entries(pool) : []
  return {
    activeProvider: typeof active === "string" && active !== "" ? active : null,
    providers: Object.fromEntries(states.flatMap(([id, state]) => (isRecord(state) ? [[id, state]] : []))),
    credentialPool: Object.fromEntries(
      pools.flatMap(([id, list]) => (Array.isArray(list) ? [[id, list.filter(isRecord)]] : [])),
    ),
    suppressedSources: value["suppressed_sources"],
    unknownFields: Object.fromEntries(Object.entries(value).filter(([key]) => !KNOWN_FIELDS.includes(key))),
  }
}

function keepCorrupt(path: string, home: Home): { readonly warnings: readonly string[]; readonly atRisk: boolean } {
  let copy: string
  try {
    copy = keepNumberedCopy(readFileSync(path), `${path}.corrupt`)
  } catch (cause) {
    const reason = explainSystemError(cause)
    return {
      warnings: [`${home.display(path)} is damaged and could not be copied (${reason}); no saved login is used`],
      atRisk: true,
    }
  }
  const warning = `${home.display(path)} is damaged; a copy is in ${home.display(copy)} and no saved login is used, so log in again`
  return { warnings: [warning], atRisk: false }
}

function writeStore(store: AuthStore, { home, environment, clock }: AuthContext): void {
  const value = {
    ...store.unknownFields,
    version: 1,
    updated_at: new Date(clock.now()).toISOString(),
    active_provider: store.activeProvider,
    providers: store.providers,
    credential_pool: store.credentialPool,
    ...(store.suppressedSources === undefined ? {} : { suppressed_sources: store.suppressedSources }),
  }
  writeFileAtomic(home.file("auth.json"), `${JSON.stringify(value, null, 2)}\n`, { mode: secretMode(environment) })
}
