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

/**
 * Resolves a host name and refuses it if one of its addresses must not be reached. The connection uses the addresses that were
 * checked, so a name that resolves differently a moment later gains nothing.
 */
export function guardedLookup({
  allowsPrivate,
}: {
  readonly allowsPrivate: (host: string) => boolean
}): LookupFunction {
  return (hostname, options, callback) => {
    process.getBuiltinModule("node:dns").lookup(hostname, { ...options, all: true }, (error, addresses) => {
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
      const [first] = addresses
      if (options.all === true || first === undefined) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
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
