/**
 * Recognises text as the address of a model server, as users paste it: a base URL, the URL of one of its requests, or `host:port` of this
 * machine or an IP address. Returns the base URL; undefined for any other text, for example the name of a model.
 */
export function typedServerAddress(text: string): string | undefined {
  const typed = text.trim()
  const withScheme = HOST_AND_PORT.test(typed) ? `http://${typed}` : typed
  if (!/^https?:\/\/[^/\s]\S*$/iu.test(withScheme)) return undefined
  const url = URL.parse(withScheme)
  if (url === null || url.hostname === "") return undefined
  return `${url.protocol}//${url.host}${url.pathname.replace(REQUEST_PATH, "").replace(/\/+$/u, "")}`
}

const HOST_AND_PORT = /^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]+\]):\d{1,5}(?:\/|$)/iu

const REQUEST_PATH = /\/(?:chat\/completions|completions|responses|models)\/*$/u
