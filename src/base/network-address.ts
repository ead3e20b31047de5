import { BlockList, isIP } from "node:net"

/**
 * What an address belongs to. `metadata` are the services of cloud providers that hand out credentials: no setting allows them.
 * `private` is everything else that is not on the public internet.
 */
export type AddressClass = "public" | "private" | "metadata"

/** Classifies an IPv4 or IPv6 address. What is not an address is `private`, so that it is refused. */
export function classifyAddress(address: string): AddressClass {
  const plain = embeddedIpv4(address) ?? address
  const family = isIP(plain)
  if (family === 0) return "private"
  const type = family === 4 ? "ipv4" : "ipv6"
  if (metadata().check(plain, type)) return "metadata"
  return privateAddresses().check(plain, type) ? "private" : "public"
}

/** Host names of the metadata services. */
export function isMetadataHost(host: string): boolean {
  return /^metadata\.(?:google\.internal|goog)\.?$/iu.test(host)
}

/** The IPv4 address in a mapped (`::ffff:…`), NAT64 (`64:ff9b::…`) or 6to4 (`2002:…`) address. */
function embeddedIpv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined
  const groups = ipv6Groups(address)
  if (groups === undefined) return undefined
  const zeros = (count: number): boolean => groups.slice(0, count).every((group) => group === 0)
  if (zeros(5) && groups[5] === 0xff_ff) return dotted(groups[6], groups[7])
  // The compatible form `::a.b.c.d`; `::` and `::1` are IPv6 addresses of their own.
  if (zeros(6) && (groups[6] ?? 0) !== 0) return dotted(groups[6], groups[7])
  if (groups[0] === 0x64 && groups[1] === 0xff_9b) return dotted(groups[6], groups[7])
  return groups[0] === 0x20_02 ? dotted(groups[1], groups[2]) : undefined
}

function dotted(high = 0, low = 0): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".")
}

function ipv6Groups(address: string): readonly number[] | undefined {
  const [bare = ""] = address.split("%")
  const hexadecimal = bare.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/u, (_all, a: string, b: string, c: string, d: string) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(":"),
  )
  const [head = "", tail] = hexadecimal.split("::")
  const read = (part: string): readonly number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16))
  const first = read(head)
  if (tail === undefined) return first.length === 8 ? first : undefined
  const last = read(tail)
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last]
}

function metadata(): BlockList {
  const list = new BlockList()
  list.addSubnet("169.254.0.0", 16, "ipv4")
  list.addAddress("100.100.100.200", "ipv4")
  list.addAddress("fd00:ec2::254", "ipv6")
  return list
}

function privateAddresses(): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of PRIVATE_IPV4) list.addSubnet(network, prefix, "ipv4")
  for (const [network, prefix] of PRIVATE_IPV6) list.addSubnet(network, prefix, "ipv6")
  return list
}

const PRIVATE_IPV4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const

const PRIVATE_IPV6 = [
  ["::", 128],
  ["::1", 128],
  ["100::", 64],
  // Teredo: the addresses stand for IPv4 addresses behind a relay.
  ["2001::", 32],
  ["2001:db8::", 32],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const
