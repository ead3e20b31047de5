/**
 * Random bytes as hexadecimal text, two digits each. For names that must not collide, not for secrets: loading `node:crypto`
 * would cost every start five milliseconds.
 */
export function randomHex(bytes: number): string {
  return Array.from({ length: bytes }, () =>
    Math.floor(Math.random() * 256)
      .toString(16)
      .padStart(2, "0"),
  ).join("")
}

/** The same for what nobody may guess: the numbers of `randomHex` can be computed from earlier ones. Loads `node:crypto`. */
export function secretHex(bytes: number): string {
  return process.getBuiltinModule("node:crypto").randomBytes(bytes).toString("hex")
}

/** A short hash that distinguishes trusted texts (two 32-bit FNV-1a hashes). Not collision-resistant against an attacker. */
export function fingerprint(text: string): string {
  return [FNV_OFFSET, FNV_OFFSET ^ 0x5bd1_e995]
    .map((start) => fnv1a(text, start).toString(16).padStart(8, "0"))
    .join("")
}

const FNV_OFFSET = 0x811c_9dc5
const FNV_PRIME = 0x0100_0193

function fnv1a(text: string, start: number): number {
  let hash = start
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME)
  return hash >>> 0
}

export function sha256Hex(text: string): string {
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(text).digest("hex")
}
