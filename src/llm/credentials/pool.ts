import type { Clock } from "../../base/clock.ts"
import { stringField } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { withAuthLock } from "../../config/auth-file.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load.ts"
import { FileLockError } from "../../base/file-lock.ts"
import type { Credential, CredentialSource, Exhaustion } from "../credential.ts"
import { cooldownEnd, isAvailable, isTerminal, okState, stateAfter } from "./cooldown.ts"
import { bundleOf, loginTrust } from "./login-trust.ts"
import { oauthEndpoints, renewalSkew } from "./oauth-endpoints.ts"
import { refreshTokens, type TokenAnswer, type TokenSet } from "./oauth-token.ts"
import { poolKey } from "./pool-key.ts"
import { gatherEntries, type CredentialOrigin } from "./pool-sources.ts"
import { entryTree, expiryOf, isBorrowed, STATE_FIELDS, type PooledCredential } from "./pooled-credential.ts"
import { parseTimestamp } from "../failure/reset-time.ts"
import { selectCredential, strategyNamed } from "./selection.ts"
import {
  adoptNewer,
  belongsToLogin,
  changeLogin,
  loginPlace,
  readLogin,
  withLoginTokens,
  type LoginPlace,
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
  /** Told every secret before it is handed out, so that it is masked wherever it turns up. */
  readonly learnSecrets?: (values: readonly string[]) => void
  /** Only credentials from these places; all of them by default. */
  readonly origins?: readonly CredentialOrigin[]
}

/** What a person may see of a credential. */
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

/** All keys and logins of one provider. Several processes may have a pool over the same `auth.json`. */
export interface CredentialPool extends CredentialSource {
  readonly provider: string
  /** Renews a login that is about to end before handing it out. */
  select(options?: { readonly signal?: AbortSignal }): Promise<Credential | undefined>
  markOk(id: string): Promise<void>
  /** `refused` is the secret the server did not take: when the pool has another one meanwhile, that is the renewal. */
  refresh(
    id: string,
    options: { readonly signal: AbortSignal; readonly refused?: string },
  ): Promise<"refreshed" | "adopted" | "failed" | "dead">
  isRefreshable(id: string): boolean
  isExhausted(id: string): boolean
  available(): number
  /** Side by side runs prefer credentials nobody else is using. */
  acquireLease(id: string): void
  release(id: string): void
  report(): readonly CredentialReport[]
}

/** A refresh must be over before another process gives up waiting for the lock (15 s). */
const REFRESH_TIMEOUT_MS = 10_000

/** Reads what there is; writes only when something about a credential changes. */
export async function openCredentialPool(options: CredentialPoolOptions): Promise<CredentialPool> {
  const place = loginPlace(poolKey(options.provider, options.config), options)
  const { warnings, ...login } = readLogin(place)
  for (const warning of warnings) options.log.warning(warning)
  const entries = gatherEntries({ ...options, login, now: options.clock.now() / 1000 })
  return await Promise.resolve(new StoredPool({ ...options, place, entries }))
}

class StoredPool implements CredentialPool {
  readonly provider: string
  readonly #options: CredentialPoolOptions
  readonly #place: LoginPlace
  readonly #leases = new Map<string, number>()
  #entries: readonly PooledCredential[]

  constructor({
    place,
    entries,
    ...options
  }: CredentialPoolOptions & { readonly place: LoginPlace; readonly entries: readonly PooledCredential[] }) {
    this.provider = options.provider
    this.#options = options
    this.#place = place
    this.#entries = entries
  }

  async select({ signal = new AbortController().signal }: { readonly signal?: AbortSignal } = {}): Promise<
    Credential | undefined
  > {
    this.#adoptFromStore()
    // Every turn of this loop either ends it or makes one entry unavailable.
    for (let turn = this.#entries.length; turn > 0; turn -= 1) {
      const chosen = await this.#choose()
      if (chosen === undefined) return undefined
      const ready = await this.#renewed(chosen, signal)
      if (ready !== undefined) return this.#handOut(ready)
    }
    return undefined
  }

  async markExhausted(id: string, why: Exhaustion): Promise<void> {
    const entry = this.#find(id)
    // What is dead stays dead until the next login, whatever else is said about it.
    if (entry === undefined || entry.state.status === "dead") return
    this.#replace({ ...entry, state: stateAfter(why, this.#now()) })
    await this.#writeState(id)
  }

  async markOk(id: string): Promise<void> {
    const entry = this.#find(id)
    if (entry === undefined || entry.state.status === "ok" || entry.state.status === null) return
    this.#replace({ ...entry, state: okState(this.#now()) })
    await this.#writeState(id)
  }

  async refresh(
    id: string,
    { signal, refused }: { readonly signal: AbortSignal; readonly refused?: string },
  ): Promise<"refreshed" | "adopted" | "failed" | "dead"> {
    const known = refused ?? this.#find(id)?.accessToken
    try {
      return await withAuthLock({ ...this.#place, signal }, async () => await this.#refreshLocked(id, known, signal))
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
    return entry !== undefined && !isAvailable(entry, this.#now())
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

  acquireLease(id: string): void {
    this.#leases.set(id, (this.#leases.get(id) ?? 0) + 1)
  }

  release(id: string): void {
    const left = (this.#leases.get(id) ?? 0) - 1
    if (left > 0) this.#leases.set(id, left)
    else this.#leases.delete(id)
  }

  report(): readonly CredentialReport[] {
    return this.#entries.map((entry) => {
      const { status, errorCode, errorReason } = entry.state
      const waiting = !isAvailable(entry, this.#now())
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
    return this.#entries.filter((entry) => isAvailable(entry, this.#now()))
  }

  async #choose(): Promise<PooledCredential | undefined> {
    const usable = this.#usable()
    const free = usable.filter(({ id }) => !this.#leases.has(id))
    const strategy = strategyNamed(this.#options.config.get("credential_pool_strategies")[this.#place.key])
    const { random } = this.#options
    const selection = selectCredential(this.#entries, { candidates: free.length > 0 ? free : usable, strategy, random })
    if (selection === undefined) return undefined
    this.#entries = selection.entries
    const { chosen } = selection
    if (selection.reordered) await this.#writeOrder()
    if (chosen.state.status !== "exhausted") return chosen
    const recovered = { ...chosen, state: okState(this.#now()) }
    this.#replace(recovered)
    await this.#writeState(chosen.id)
    return recovered
  }

  /** The entry with a token that still lasts; undefined when it had to be renewed and could not be. */
  async #renewed(entry: PooledCredential, signal: AbortSignal): Promise<PooledCredential | undefined> {
    const expiry = expiryOf(entry)
    if (entry.refreshToken === undefined || expiry === undefined) return entry
    if (expiry - renewalSkew(this.#place.key) > this.#now()) return entry
    const outcome = await this.refresh(entry.id, { signal })
    if (outcome === "refreshed" || outcome === "adopted") return this.#find(entry.id)
    if (outcome === "dead" || signal.aborted) return undefined
    if (expiry > this.#now()) return entry
    await this.markExhausted(entry.id, { status: 401, reason: "refresh_failed", message: "the token has expired" })
    return undefined
  }

  #handOut(entry: PooledCredential): Credential {
    const agentKey = stringField(entry.rest, "agent_key") ?? ""
    const agentKeyEnds = parseTimestamp(entry.rest["agent_key_expires_at"])
    const useAgentKey = agentKey !== "" && agentKeyEnds !== undefined && agentKeyEnds > this.#now()
    this.#options.learnSecrets?.([entry.accessToken, agentKey, entry.refreshToken ?? ""])
    const baseUrl = stringField(entry.rest, "inference_base_url") ?? stringField(entry.rest, "base_url") ?? ""
    return {
      id: entry.id,
      label: entry.label,
      kind: entry.authType,
      source: entry.source,
      secret: useAgentKey ? agentKey : entry.accessToken,
      ...(baseUrl === "" ? {} : { baseUrl }),
    }
  }

  /** Another process may have renewed what looks spent from here. */
  #adoptFromStore(): void {
    const spent = this.#entries.filter((entry) => entry.authType === "oauth" && !isAvailable(entry, this.#now()))
    if (spent.length === 0) return
    const login = readLogin(this.#place)
    for (const entry of spent) this.#adopt(entry, login)
  }

  #adopt(entry: PooledCredential, login: StoredLogin): boolean {
    const newer = isBorrowed(entry.source) ? undefined : adoptNewer(entry, login, this.#now())
    if (newer === undefined) return false
    this.#replace(newer)
    return true
  }

  /** Under the lock: whoever had it before may have done the work, so the store is read first. */
  async #refreshLocked(id: string, refused: string | undefined, signal: AbortSignal): Promise<RefreshOutcome> {
    const before = this.#find(id)
    if (before === undefined) return "failed"
    if (refused !== undefined && before.accessToken !== "" && before.accessToken !== refused) return "adopted"
    if (this.#adopt(before, readLogin(this.#place))) return "adopted"
    if (before.refreshToken === undefined) return before.state.status === "dead" ? "dead" : "failed"
    const answer = await this.#spend(before, before.refreshToken, signal)
    if (answer.kind === "tokens") {
      await this.#storeTokens(before, answer.tokens)
      return "refreshed"
    }
    if (this.#adopt(before, readLogin(this.#place))) return "adopted"
    this.#options.log.warning(`the login ${before.label} of ${this.provider} was not renewed: ${answer.message}`)
    if (answer.kind !== "refused" || !isTerminal(answer.code)) return "failed"
    await this.#bury(before, answer.code, answer.message)
    return "dead"
  }

  async #spend(entry: PooledCredential, refreshToken: string, signal: AbortSignal): Promise<TokenAnswer> {
    const { environment, clock, config } = this.#options
    const login = {
      clientId: stringField(entry.rest, "client_id"),
      portalUrl: stringField(entry.rest, "portal_base_url"),
    }
    const trust = loginTrust(this.provider, { config, bundle: bundleOf(entry.rest) })
    if (!trust.ok) return { kind: "unreachable", message: trust.error }
    const request = { environment, clock, signal, timeoutMs: REFRESH_TIMEOUT_MS, trust: trust.value }
    const endpoints = await oauthEndpoints(this.provider, { config, login, ...request })
    if (!endpoints.ok) return { kind: "unreachable", message: endpoints.error }
    return await refreshTokens(endpoints.value, refreshToken, request)
  }

  async #storeTokens(entry: PooledCredential, tokens: TokenSet): Promise<void> {
    const { accessToken, refreshToken, fields } = tokens
    const renewed: PooledCredential = {
      ...entry,
      accessToken,
      ...(refreshToken === undefined ? {} : { refreshToken }),
      state: okState(this.#now()),
      rest: { ...entry.rest, ...fields },
    }
    this.#replace(renewed)
    await this.#writeLogin(renewed, { access_token: accessToken, refresh_token: refreshToken, ...fields })
  }

  /** The login is over: its tokens are worth nothing to anybody and are removed; the entry says what happened. */
  async #bury(entry: PooledCredential, code: string, message: string): Promise<void> {
    const { refreshToken: _spent, ...kept } = entry
    const state = stateAfter({ status: 401, reason: code, message }, this.#now())
    const buried: PooledCredential = { ...kept, accessToken: "", state }
    this.#replace(buried)
    await this.#writeLogin(buried, { access_token: "", refresh_token: "" })
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
      // The failure was that of a token which another process has replaced meanwhile.
      if (this.#adopt(entry, login)) return login
      return { ...login, entries: this.#withStatus(login, entry) }
    })
  }

  /** Only the state: the secrets in the file are those of whoever wrote them last. */
  #withStatus(login: StoredLogin, entry: PooledCredential): readonly Tree[] {
    const tree = entryTree(entry)
    const known = login.entries.some(({ id }) => id === entry.id)
    // An entry that is gone was removed by a person; one that was never stored is remembered from now on.
    if (!known && !isBorrowed(entry.source) && !belongsToLogin(entry, login)) return login.entries
    return withEntry(login.entries, entry.id, (stored) =>
      stored === undefined || isBorrowed(entry.source)
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
      const place = (tree: Tree): number => order.get(stringField(tree, "id") ?? "") ?? this.#entries.length
      const sorted = entries.toSorted((a, b) => place(a) - place(b))
      return { ...login, entries: sorted.map((tree, priority) => ({ ...tree, priority })) }
    })
  }

  /** The pool goes on in memory when the file cannot be written. */
  async #write(change: (login: StoredLogin) => StoredLogin): Promise<void> {
    const written = await changeLogin(this.#place, change)
    if (!written.ok) this.#options.log.warning(`the state of a credential was not saved: ${written.error}`)
  }
}

type RefreshOutcome = "refreshed" | "adopted" | "failed" | "dead"

function withEntry(entries: readonly Tree[], id: string, change: (stored: Tree | undefined) => Tree): readonly Tree[] {
  const index = entries.findIndex((tree) => tree["id"] === id)
  if (index === -1) return [...entries, change(undefined)]
  return entries.map((tree, at) => (at === index ? change(tree) : tree))
}
