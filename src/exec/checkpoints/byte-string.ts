/**
 * File names are bytes, not text. Checkpoints hold them as byte strings with one character per byte (latin1), so that names
 * that are not valid UTF-8 survive and comparing two strings compares their bytes, as git does.
 */
export function toByteString(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text
}

/** Decodes a byte string for display; bytes that are not valid UTF-8 become replacement characters. */
export function decodeByteString(bytes: string): string {
  return NOT_ASCII.test(bytes) ? Buffer.from(bytes, "latin1").toString("utf8") : bytes
}

/** Converts a byte string to a path for `node:fs`: a Buffer where a string could not hold the name. */
export function toNodePath(bytes: string): string | Buffer {
  return NOT_ASCII.test(bytes) ? Buffer.from(bytes, "latin1") : bytes
}

const NOT_ASCII = /[\u0080-\uFFFF]/u
