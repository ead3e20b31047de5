import type { LookupAddress, LookupAllOptions, LookupOptions } from "node:dns"
import type { LookupFunction } from "node:net"
import { isIP } from "node:net"

import { classifyAddress, isMetadataHost } from "../../base/network-address.ts"

/** A request that would have reached an address that is not on the public internet. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError"
  readonly code = "ERR_BLOCKED_ADDRESS"
}

/** Throws when a URL names an address that must not be reached. Host names are checked by `guardedLookup`, when they are resolved. */
export function checkUrl(url: URL, { allowsPrivate }: { readonly allowsPrivate: boolean }): void {
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new BlockedAddressError(`${url.protocol} addresses are not allowed, only http and https`)
  const host = url.hostname.replace(/^\[|\]$/gu, "").replace(/\.$/u, "")
  if (host === "") throw new BlockedAddressError("the address has no host")
  if (isMetadataHost(host)) throw metadataError(host)
  if (isIP(host) !== 0) checkAddress(host, { host, allowsPrivate })
}

/** Resolves a host name to all its addresses, as `dns.lookup` does. */
export type ResolveHost = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

export interface LookupGuard {
  readonly allowsPrivate: (host: string) => boolean
  /** Default: the resolver of the system. */
  readonly resolve?: ResolveHost
}

/**
 * Resolves a host name and refuses it if one of its addresses must not be reached. The connection uses the addresses that were
 * checked, so a name that resolves differently a moment later gains nothing.
 */
export function guardedLookup(guard: LookupGuard): LookupFunction {
  return (hostname, options, callback) => {
    resolveChecked(hostname, { ...guard, options }, (error, addresses) => {
      const [first] = addresses
      if (error !== null || options.all === true || first === undefined) callback(error, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

/** Refuses a host name that a proxy will resolve, if it is known on this machine and one of its addresses must not be reached. */
export async function checkProxiedHost(hostname: string, guard: LookupGuard): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  resolveChecked(hostname, { ...guard, options: {} }, (error) => {
    // Behind a proxy, names of the internet often cannot be resolved here.
    if (error instanceof BlockedAddressError) reject(error)
    else resolve()
  })
  await promise
}

function resolveChecked(
  hostname: string,
  { allowsPrivate, resolve = systemResolver, options }: LookupGuard & { readonly options: LookupOptions },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
): void {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) {
      callback(error, [])
      return
    }
    try {
      for (const { address } of addresses)
        checkAddress(address, { host: hostname, allowsPrivate: allowsPrivate(hostname) })
    } catch (blocked) {
      callback(blocked instanceof Error ? blocked : new Error(String(blocked)), [])
      return
    }
    callback(null, addresses)
  })
}

const systemResolver: ResolveHost = (hostname, options, callback) => {
  process.getBuiltinModule("node:dns").lookup(hostname, options, callback)
}

function checkAddress(
  address: string,
  { host, allowsPrivate }: { readonly host: string; readonly allowsPrivate: boolean },
): void {
  const kind = classifyAddress(address)
  if (kind === "metadata") throw metadataError(host)
  if (kind === "private" && !allowsPrivate) {
    const resolved = host === address ? "" : ` (${address})`
    throw new BlockedAddressError(
      `${host}${resolved} is a private address; set security.allow_private_urls, or add the host to security.trusted_hosts`,
    )
  }
}

function metadataError(host: string): BlockedAddressError {
  return new BlockedAddressError(`${host} is a metadata service of a cloud provider, which is never allowed`)
}
