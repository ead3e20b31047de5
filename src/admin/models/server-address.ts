/** Parses the address of a model server as typed by the user, without slashes at its end; undefined unless it is http(s) with a host. */
export function parseServerAddress(text: string): string | undefined {
  return URL.canParse(text) && /^https?:\/\/[^/]/.test(text) ? text.replace(/\/+$/, "") : undefined
}
