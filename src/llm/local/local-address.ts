/** Whether an endpoint is on this machine or the local network, so that no price list or catalogue applies to it. */
export function isLocalAddress(address: string): boolean {
  const text = address.includes("://") ? address : `http://${address}`
  return URL.canParse(text) && isLocalHost(new URL(text).hostname)
}

function isLocalHost(hostname: string): boolean {
  const host = hostname.toLowerCase().replaceAll(/^\[|\]$|\.$/g, "")
  if (host === "") return false
  if (host.includes(":")) return isLocalIpv6(host)
  const octets = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(host)
  if (octets !== null) return isLocalIpv4(octets.slice(1).map(Number))
  if (!host.includes(".")) return true
  return LOCAL_SUFFIXES.some((suffix) => host.endsWith(suffix))
}

const LOCAL_SUFFIXES: readonly string[] = [
  ".local",
  ".localhost",
  ".docker.internal",
  ".containers.internal",
  ".lima.internal",
]

function isLocalIpv4([a = 0, b = 0]: readonly number[]): boolean {
  if (a === 127 || a === 10 || a === 0) return true
  if (a === 172) return b >= 16 && b <= 31
  if (a === 192) return b === 168
  if (a === 169) return b === 254
  return a === 100 && b >= 64 && b <= 127
}

/** Loopback, unique local (fc00::/7) and link-local (fe80::/10); a mapped IPv4 address is checked as IPv4. */
function isLocalIpv6(host: string): boolean {
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host)
  if (mapped !== null) {
    const high = Number.parseInt(mapped[1] ?? "", 16)
    return isLocalIpv4([high >> 8, high & 255])
  }
  return host === "::1" || host === "::" || /^f[cd][0-9a-f]{2}:/.test(host) || /^fe[89ab][0-9a-f]:/.test(host)
}
