const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

export function decodeBase32(text: string): string {
  const bytes: number[] = []
  let bits = 0
  let value = 0
  for (const character of text.replaceAll("=", "").toUpperCase()) {
    const digit = ALPHABET.indexOf(character)
    if (digit === -1) continue
    value = ((value << 5) | digit) & 0xf_ff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((value >> bits) & 0xff)
  }
  return Buffer.from(bytes).toString("utf8")
}
