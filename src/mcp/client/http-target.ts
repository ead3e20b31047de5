import { readFileSync } from "node:fs"

import type { Environment } from "../../config/environment.ts"
import { createGuardedFetch } from "../../llm/http/guarded-fetch.ts"
import type { GuardedFetch } from "../../llm/http/guarded-fetch.ts"
import { isLocalAddress } from "../../llm/local/local-address.ts"
import type { HttpTarget } from "../server-settings.ts"

export interface HttpAccess {
  readonly environment: Environment
  /** `security.allow_private_urls`. */
  readonly allowPrivate: boolean
  /** `security.trusted_hosts`. */
  readonly trustedHosts: readonly string[]
}

const CONNECT_MS = 30_000
/** An event stream without a sign of life for that long is opened again. */
const IDLE_MS = 300_000
const MAX_BYTES = 64_000_000

/**
 * `fetch` for one server. Only the host that the user configured may have a private address, and only if its address says so: what a
 * server refers to (a redirect, a login page) must be on the public internet.
 */
export function openFetch(target: HttpTarget, { environment, allowPrivate, trustedHosts }: HttpAccess): GuardedFetch {
  const configured = new URL(target.url).hostname.replace(/^\[|\]$/gu, "")
  const isLocal = isLocalAddress(target.url)
  const { clientCertificate, clientKey, tlsVerify } = target
  return createGuardedFetch({
    environment,
    allowsPrivate: (host) =>
      allowPrivate || trustedHosts.includes(host) || (isLocal && isSameMachine(host, configured)),
    ...(typeof tlsVerify === "string" ? { caBundle: { path: tlsVerify, setting: "ssl_verify" } } : {}),
    trust: {
      ...(tlsVerify === false ? { rejectUnauthorized: false as const } : {}),
      ...(clientCertificate === undefined ? {} : { cert: readFileSync(clientCertificate, "utf8") }),
      ...(clientKey === undefined ? {} : { key: readFileSync(clientKey, "utf8") }),
    },
    timeouts: { connectMs: CONNECT_MS, idleMs: IDLE_MS },
    maxBytes: MAX_BYTES,
  })
}

/** A server on this machine may have its login at another port of it, under another name for the same machine. */
function isSameMachine(host: string, configured: string): boolean {
  return host === configured || (LOOPBACK.test(host) && LOOPBACK.test(configured))
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/u
