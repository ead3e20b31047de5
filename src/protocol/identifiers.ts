declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** Identifies one stored session. Ids of Hermes are `YYYYMMDD_HHMMSS_<hex>`; other ids are opaque text. */
export type SessionId = Branded<"SessionId">

export function isSessionId(text: string): text is SessionId {
  return text.length > 0
}

export function toSessionId(text: string): SessionId {
  if (!isSessionId(text)) throw new Error("a session id must not be empty")
  return text
}
