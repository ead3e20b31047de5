import type { Clock } from "../../base/clock.ts"
import { stringField } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { withAuthLock } from "../../config/auth-file.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import { FileLockError } from "../../base/file-lock.ts"
import type { Credential, CredentialOrigin, CredentialSource, Exhaustion } from "../credential.ts"
import { cooldownEnd, isCredentialAvailable, isTerminal, okState, stateAfterRefusal } from "./cooldown.ts"
import { caBundleOfLogin, loginTrust } from "./login-trust.ts"
import { oauthEndpoints, refreshMarginSeconds } from "./oauth-endpoints.ts"
import { refreshTokens, type TokenOutcome, type TokenSet } from "./oauth-token.ts"
import { poolKey } from "./pool-key.ts"
import { collectEntries } from "./pool-sources.ts"
import {
  entryTree,
  expiryOf,
  isExternalSecret,
  parseEntry,
  STATE_FIELDS,
  type PooledCredential,
} from "./pooled-credential.ts"
import { parseTimestamp } from "../failure/reset-time.ts"
import { selectCredential, parseStrategy } from "./select-credential.ts"
import {
  adoptNewer,
  belongsToLogin,
  changeLogin,
  locateLogin,
  readLogin,
  withLoginTokens,
  type LoginLocation,
  type StoredLogin,
} from "./stored-login.ts"

export interface CredentialPoolOptions {
  readonly provider: string
  readonly home: Home
  readonly environment: Environment
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  /** Between 0 and 1. */
  readonly random: () => number
  /** Receives every secret before it is returned, so that it is redacted from logs and events. */
  readonly registerSecrets?: (values: readonly string[]) => void
  /** Awaits, when the app closes, writes that no request waits for. */
  readonly pendingWrites?: { add(write: Promise<void>): void }
  /** Only credentials from these origins; all of them by default. */
  readonly origins?: readonly CredentialOrigin[]
}

/** What the user may see of a credential. */
export interface CredentialReport {
  readonly id: string
  readonly label: string
  readonly kind: Credential["kind"]
  readonly source: string
  readonly status: "ok" | "exhausted" | "dead"
  readonly errorCode: number | null
  readonly errorReason: string | null
  /** Epoch seconds. */
  readonly availableAt: number | null
  readonly expiresAt: number | null
  readonly requestCount: number
}

/** All keys and logins of one provider. Several processes may open a pool over the same `auth.json`. */
export interface CredentialPool extends CredentialSource {
  readonly provider: string
  /** Refreshes a login that is about to expire before returning it. */
  select(options?: { readonly signal?: AbortSignal }): Promise<Credential | undefined>
  /** `refused` is the secret the server rejected. When the pool already holds a different one, that one is adopted. */
  refresh(
    id: string,
    options: { readonly signal: AbortSignal; readonly refused?: string },
  ): Promise<"refreshed" | "adopted" | "failed" | "dead">
  isRefreshable(id: string): boolean
  isExhausted(id: string): boolean
  available(): number
  close(): void
  report(): readonly CredentialReport[]
}

/** A refresh must end before another process stops waiting for the lock (15 s). */
const REFRESH_TIMEOUT_MS = 10_000

/** Opens the pool of a provider. It writes to `auth.json` only when a credential changes. */
export async function openCredentialPool(options: CredentialPoolOptions): Promise<CredentialPool> {
  const location = locateLogin(poolKey(options.provider, options.config), options)
  const { warnings, ...login } = readLogin(location)
  for (const warning of warnings) options.log.warning(warning)
  const entries = collectEntries({ ...options, login, now: options.clock.now() / 1000 })
  return await Promise.resolve(new StoredPool({ ...options, location, entries }))
}

class StoredPool implements CredentialPool {
  readonly provider: string
  readonly #options: CredentialPoolOptions
  readonly #location: LoginLocation
  #entries: readonly PooledCredential[]
  /** Selections of `least_used` that are not stored yet, by credential. */
  #uncounted = new Map<string, number>()

  constructor({
    location,
    entries,
    ...options
  }: CredentialPoolOptions & { readonly location: LoginLocation; readonly entries: readonly PooledCredential[] }) {
    this.provider = options.provider
    this.#options = options
    this.#location = location
    this.#entries = entries
  }

  async select({ signal = new AbortController().signal }: { readonly signal?: AbortSignal } = {}): Promise<
    Credential | undefined
  > {
    this.#adoptFromStore()
    // Every pass either ends the loop or makes one entry unavailable.
    for (let remaining = this.#entries.length; remaining > 0; remaining -= 1) {
      const chosen = await this.#choose()
      if (chosen === undefined) return undefined
      const ready = await this.#refreshIfExpiring(chosen, signal)
      if (ready !== undefined) return this.#toCredential(ready)
    }
    return undefined
  }

  async markExhausted(id: string, why: Exhaustion): Promise<void> {
    const entry = this.#find(id)
    // A dead credential stays dead until the next login.
    if (entry === undefined || entry.state.status === "dead") return
    this.#replace({ ...entry, state: stateAfterRefusal(why, this.#now()) })
    await this.#writeState(id)
  }

  async refresh(
    id: string,
    { signal, refused }: { readonly signal: AbortSignal; readonly refused?: string },
  ): Promise<"refreshed" | "adopted" | "failed" | "dead"> {
    const known = refused ?? this.#find(id)?.accessToken
    try {
      return await withAuthLock({ ...this.#location, signal }, async () => await this.#refreshLocked(id, known, signal))
    } catch (cause) {
      if (signal.aborted) return "failed"
      if (!(cause instanceof FileLockError)) throw cause
      this.#options.log.warning(cause.message)
      return "failed"
    }
  }

  isRefreshable(id: string): boolean {
    return this.#find(id)?.refreshToken !== undefined
  }

  isExhausted(id: string): boolean {
    const entry = this.#find(id)
    return entry !== undefined && !isCredentialAvailable(entry, this.#now())
  }

  size(): number {
    return this.#entries.length
  }

  available(): number {
    return this.#usable().length
  }

  nextAvailableAt(): number | undefined {
    const ends = this.#entries.flatMap((entry) => cooldownEnd(entry) ?? []).filter((end) => end > this.#now())
    return ends.length === 0 ? undefined : Math.min(...ends)
  }

  close(): void {
    this.#storeCounts()
  }

  report(): readonly CredentialReport[] {
    return this.#entries.map((entry) => {
      const { status, errorCode, errorReason } = entry.state
      const waiting = !isCredentialAvailable(entry, this.#now())
      return {
        id: entry.id,
        label: entry.label,
        kind: entry.authType,
        source: entry.source,
        status: status === "dead" ? "dead" : waiting ? "exhausted" : "ok",
        errorCode: waiting ? errorCode : null,
        errorReason: waiting ? errorReason : null,
        availableAt: waiting ? (cooldownEnd(entry) ?? null) : null,
        expiresAt: expiryOf(entry) ?? null,
        requestCount: entry.requestCount,
      }
    })
  }

  #now(): number {
    return this.#options.clock.now() / 1000
  }

  #find(id: string): PooledCredential | undefined {
    return this.#entries.find((entry) => entry.id === id)
  }

  #replace(changed: PooledCredential): void {
    this.#entries = this.#entries.map((entry) => (entry.id === changed.id ? changed : entry))
  }

  #usable(): readonly PooledCredential[] {
    return this.#entries.filter((entry) => isCredentialAvailable(entry, this.#now()))
  }

  async #choose(): Promise<PooledCredential | undefined> {
    const strategy = parseStrategy(this.#options.config.get("credential_pool_strategies")[this.#location.key])
    const { random } = this.#options
    const selection = selectCredential(this.#entries, { candidates: this.#usable(), strategy, random })
    if (selection === undefined) return undefined
    this.#entries = selection.entries
    const { chosen } = selection
    if (strategy === "least_used") this.#count(chosen.id)
    if (selection.reordered) await this.#writeOrder()
    if (chosen.state.status !== "exhausted") return chosen
    const recovered = { ...chosen, state: okState(this.#now()) }
    this.#replace(recovered)
    await this.#writeState(chosen.id)
    return recovered
  }

  /** A request never waits for its count to be stored. */
  #count(id: string): void {
    this.#uncounted.set(id, (this.#uncounted.get(id) ?? 0) + 1)
    const total = [...this.#uncounted.values()].reduce((sum, count) => sum + count, 0)
    if (total >= UNSTORED_SELECTIONS) this.#storeCounts()
  }

  #storeCounts(): void {
    if (this.#uncounted.size === 0) return
    this.#options.pendingWrites?.add(this.#write((login) => login))
  }

  /** Returns the entry with a valid token; undefined when it had to be refreshed and could not be. */
  async #refreshIfExpiring(entry: PooledCredential, signal: AbortSignal): Promise<PooledCredential | undefined> {
    const expiry = expiryOf(entry)
    if (entry.refreshToken === undefined || expiry === undefined) return entry
    if (expiry - refreshMarginSeconds(this.#location.key) > this.#now()) return entry
    const outcome = await this.refresh(entry.id, { signal })
    if (outcome === "refreshed" || outcome === "adopted") return this.#find(entry.id)
    if (outcome === "dead" || signal.aborted) return undefined
    if (expiry > this.#now()) return entry
    await this.markExhausted(entry.id, { status: 401, reason: "refresh_failed", message: "the token has expired" })
    return undefined
  }

  #toCredential(entry: PooledCredential): Credential {
    const agentKey = stringField(entry.extraFields, "agent_key") ?? ""
    const agentKeyExpiry = parseTimestamp(entry.extraFields["agent_key_expires_at"])
    const useAgentKey = agentKey !== "" && agentKeyExpiry !== undefined && agentKeyExpiry > this.#now()
    this.#options.registerSecrets?.([entry.accessToken, agentKey, entry.refreshToken ?? ""])
    const baseUrl =
      stringField(entry.extraFields, "inference_base_url") ?? stringField(entry.extraFields, "base_url") ?? ""
    return {
      id: entry.id,
      label: entry.label,
      kind: entry.authType,
      source: entry.source,
      secret: useAgentKey ? agentKey : entry.accessToken,
      ...(baseUrl === "" ? {} : { baseUrl }),
    }
  }

  /** Adopts tokens that another process has refreshed. */
  #adoptFromStore(): void {
    const unavailable = this.#entries.filter(
      (entry) => entry.authType === "oauth" && !isCredentialAvailable(entry, this.#now()),
    )
    if (unavailable.length === 0) return
    const login = readLogin(this.#location)
    for (const entry of unavailable) this.#adopt(entry, login)
  }

  #adopt(entry: PooledCredential, login: StoredLogin): boolean {
    const newer = isExternalSecret(entry.source) ? undefined : adoptNewer(entry, login, this.#now())
    if (newer === undefined) return false
    this.#replace(newer)
    return true
  }

  /** Runs under the lock. Reads the store first, because the previous holder of the lock may have refreshed the login. */
  async #refreshLocked(id: string, refused: string | undefined, signal: AbortSignal): Promise<RefreshOutcome> {
    const before = this.#find(id)
    if (before === undefined) return "failed"
    if (refused !== undefined && before.accessToken !== "" && before.accessToken !== refused) return "adopted"
    if (this.#adopt(before, readLogin(this.#location))) return "adopted"
    if (before.refreshToken === undefined) return before.state.status === "dead" ? "dead" : "failed"
    const outcome = await this.#requestNewTokens(before, before.refreshToken, signal)
    if (outcome.kind === "tokens") {
      await this.#storeTokens(before, outcome.tokens)
      return "refreshed"
    }
    if (this.#adopt(before, readLogin(this.#location))) return "adopted"
    this.#options.log.warning(
      `the login ${before.label} of ${this.provider} could not be refreshed: ${outcome.message}`,
    )
    if (outcome.kind !== "refused" || !isTerminal(outcome.code)) return "failed"
    await this.#markDead(before, outcome.code, outcome.message)
    return "dead"
  }

  async #requestNewTokens(entry: PooledCredential, refreshToken: string, signal: AbortSignal): Promise<TokenOutcome> {
    const { environment, clock, config } = this.#options
    const login = {
      clientId: stringField(entry.extraFields, "client_id"),
      portalUrl: stringField(entry.extraFields, "portal_base_url"),
    }
    const trust = loginTrust(this.provider, { config, bundle: caBundleOfLogin(entry.extraFields) })
    if (!trust.ok) return { kind: "unreachable", message: trust.error }
    const request = { environment, clock, signal, timeoutMs: REFRESH_TIMEOUT_MS, trust: trust.value }
    const endpoints = await oauthEndpoints(this.provider, { config, login, ...request })
    if (!endpoints.ok) return { kind: "unreachable", message: endpoints.error }
    return await refreshTokens(endpoints.value, refreshToken, request)
  }

  async #storeTokens(entry: PooledCredential, tokens: TokenSet): Promise<void> {
    const { accessToken, refreshToken, fields } = tokens
    const refreshed: PooledCredential = {
      ...entry,
      accessToken,
      ...(refreshToken === undefined ? {} : { refreshToken }),
      state: okState(this.#now()),
      extraFields: { ...entry.extraFields, ...fields },
    }
    this.#replace(refreshed)
    await this.#writeLogin(refreshed, { access_token: accessToken, refresh_token: refreshToken, ...fields })
  }

  /** Removes the invalid tokens of a login that the server ended; the entry records the reason. */
  async #markDead(entry: PooledCredential, code: string, message: string): Promise<void> {
    const { refreshToken: _spent, ...kept } = entry
    const state = stateAfterRefusal({ status: 401, reason: code, message }, this.#now())
    const dead: PooledCredential = { ...kept, accessToken: "", state }
    this.#replace(dead)
    await this.#writeLogin(dead, { access_token: "", refresh_token: "" })
  }

  async #writeLogin(entry: PooledCredential, tokens: Tree): Promise<void> {
    await this.#write((login) => ({
      ...login,
      entries: withEntry(login.entries, entry.id, () => entryTree(entry)),
      ...(login.state !== undefined && belongsToLogin(entry, login) && { state: withLoginTokens(login.state, tokens) }),
    }))
  }

  async #writeState(id: string): Promise<void> {
    await this.#write((login) => {
      const entry = this.#find(id)
      if (entry === undefined) return login
      // Another process has replaced the token that failed, so the failure no longer applies.
      if (this.#adopt(entry, login)) return login
      return { ...login, entries: this.#withStatus(login, entry) }
    })
  }

  /** Updates only the state fields, because another process may have stored newer secrets. */
  #withStatus(login: StoredLogin, entry: PooledCredential): readonly Tree[] {
    const tree = entryTree(entry)
    const known = login.entries.some(({ id }) => id === entry.id)
    // Do not restore an entry that the user removed; but do store a new entry of an external secret or login.
    if (!known && !isExternalSecret(entry.source) && !belongsToLogin(entry, login)) return login.entries
    return withEntry(login.entries, entry.id, (stored) =>
      stored === undefined || isExternalSecret(entry.source)
        ? tree
        : { ...stored, ...Object.fromEntries(STATE_FIELDS.map((name) => [name, tree[name]])) },
    )
  }

  async #writeOrder(): Promise<void> {
    await this.#write((login) => {
      const entries = this.#entries.reduce<StoredLogin>(
        (current, entry) => ({ ...current, entries: this.#withStatus(current, entry) }),
        login,
      ).entries
      const order = new Map(this.#entries.map(({ id, priority }) => [id, priority]))
      const position = (tree: Tree): number => order.get(stringField(tree, "id") ?? "") ?? this.#entries.length
      const sorted = entries.toSorted((a, b) => position(a) - position(b))
      return { ...login, entries: sorted.map((tree, priority) => ({ ...tree, priority })) }
    })
  }

  /** When the file cannot be written, the pool continues in memory. */
  async #write(change: (login: StoredLogin) => StoredLogin): Promise<void> {
    const counted = this.#uncounted
    this.#uncounted = new Map()
    const written = await changeLogin(this.#location, (login) => this.#withCounts(login, change(login), counted))
    if (written.ok) {
      this.#adoptCounts(written.value)
      return
    }
    for (const [id, count] of counted) this.#uncounted.set(id, (this.#uncounted.get(id) ?? 0) + count)
    this.#options.log.warning(`the state of a credential was not saved: ${written.error}`)
  }

  /** Adds this process's selections to the stored counts, which other processes change too. */
  #withCounts(before: StoredLogin, after: StoredLogin, counted: ReadonlyMap<string, number>): StoredLogin {
    const known = new Map(before.entries.map((tree) => [tree["id"], parseEntry(tree)?.requestCount ?? 0]))
    const selected = this.#entries.filter(({ id }) => counted.has(id))
    const { entries } = selected.reduce(
      (login, entry) =>
        login.entries.some(({ id }) => id === entry.id) ? login : { ...login, entries: this.#withStatus(login, entry) },
      after,
    )
    return {
      ...after,
      entries: entries.map((tree) => {
        const count = (known.get(tree["id"]) ?? 0) + (counted.get(stringField(tree, "id") ?? "") ?? 0)
        return count === 0 && tree["request_count"] === undefined ? tree : { ...tree, request_count: count }
      }),
    }
  }

  #adoptCounts(login: StoredLogin): void {
    const stored = new Map(login.entries.map((tree) => [tree["id"], parseEntry(tree)?.requestCount ?? 0]))
    this.#entries = this.#entries.map((entry) => ({
      ...entry,
      requestCount: (stored.get(entry.id) ?? entry.requestCount) + (this.#uncounted.get(entry.id) ?? 0),
    }))
  }
}

/** After this many selections the counts are stored; the rest is stored when the pool is closed. */
const UNSTORED_SELECTIONS = 20

type RefreshOutcome = "refreshed" | "adopted" | "failed" | "dead"

function withEntry(entries: readonly Tree[], id: string, change: (stored: Tree | undefined) => Tree): readonly Tree[] {
  const index = entries.findIndex((tree) => tree["id"] === id)
  if (index === -1) return [...entries, change(undefined)]
  return entries.map((tree, position) => (position === index ? change(tree) : tree))
}
