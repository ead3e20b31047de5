declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** Names one durable conversation. Ours are `YYYYMMDD_HHMMSS_<hex>`; foreign ids are opaque text. */
export type SessionId = Branded<"SessionId">

export function isSessionId(text: string): text is SessionId {
  return text.length > 0
}

export function toSessionId(text: string): SessionId {
  if (!isSessionId(text)) throw new Error("a session id may not be empty")
  return text
}
