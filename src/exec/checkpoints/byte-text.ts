/**
 * File names are bytes, not text. Inside the checkpoints they are strings with one character for each byte, so that a name that
 * is no valid UTF-8 survives, and comparing two strings compares their bytes as git does.
 */
export function byteText(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text
}

/** For people and the model; bytes that are no UTF-8 are replaced. */
export function shownText(bytes: string): string {
  return NOT_ASCII.test(bytes) ? Buffer.from(bytes, "latin1").toString("utf8") : bytes
}

/** What the file functions of Node take. */
export function systemPath(bytes: string): string | Buffer {
  return NOT_ASCII.test(bytes) ? Buffer.from(bytes, "latin1") : bytes
}

const NOT_ASCII = /[\u0080-\uFFFF]/u
