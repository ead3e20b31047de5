import { BlockList, isIP, isIPv6 } from "node:net"
import { networkInterfaces } from "node:os"

/** Where a command wants to connect to. */
export interface Destination {
  readonly host: string
  readonly port: number
}

/**
 * Whether the list allows a destination. An entry is a host (`example.com`), all hosts below one (`*.example.com`), or an address, each
 * with an optional port (`example.com:8443`). Comparison ignores case and a final dot.
 */
export function isListedHost({ host, port }: Destination, list: readonly string[]): boolean {
  const name = canonicalHost(host)
  return list.some((entry) => {
    const { pattern, port: onlyPort } = parseEntry(entry)
    if (onlyPort !== undefined && onlyPort !== port) return false
    return pattern.startsWith("*.") ? name.endsWith(pattern.slice(1)) && isIP(name) === 0 : name === pattern
  })
}

/** Whether the list contains this very address, not only a name that resolves to it. */
export function isListedAddress(destination: Destination, list: readonly string[]): boolean {
  return isIP(canonicalHost(destination.host)) !== 0 && isListedHost(destination, list)
}

/** Without brackets, a final dot and upper case, so that one host has one spelling. */
export function canonicalHost(host: string): string {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host
  return bare.toLowerCase().replace(/\.$/u, "")
}

function parseEntry(entry: string): { readonly pattern: string; readonly port?: number } {
  const trimmed = entry.trim()
  // An IPv6 address contains colons itself; only one in brackets can have a port.
  if (isIPv6(trimmed)) return { pattern: trimmed.toLowerCase() }
  const [, host = trimmed, port] = /^(.*?)(?::(\d{1,5}))?$/u.exec(trimmed) ?? []
  return { pattern: canonicalHost(host), ...(port === undefined ? {} : { port: Number(port) }) }
}

/**
 * Whether an address belongs to this machine, its network or a cloud's metadata service. A public name that resolves to one of these is an
 * attempt to reach what only this machine can reach.
 */
export function isInternalAddress(address: string): boolean {
  const family = isIPv6(address) ? "ipv6" : "ipv4"
  if (INTERNAL.check(address, family)) return true
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some((own) => own.address === address))
}

const INTERNAL = blockList([
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3],
  ["::", 127],
  // Forms that contain an IPv4 address: mapped is checked by Node itself, translated and 6to4 are not.
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
])

function blockList(ranges: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList()
  for (const [address, prefix] of ranges) list.addSubnet(address, prefix, isIPv6(address) ? "ipv6" : "ipv4")
  return list
}
