// `import "node:crypto"` as a module touches all its exports, Web Crypto among them, which costs a start several milliseconds.
// Taking the built-in module directly loads only what is used.
const crypto = () => process.getBuiltinModule("node:crypto")

/** Random bytes as hexadecimal text, two digits each. */
export function randomHex(bytes: number): string {
  return crypto().randomBytes(bytes).toString("hex")
}

export function sha256Hex(text: string): string {
  return crypto().createHash("sha256").update(text).digest("hex")
}
