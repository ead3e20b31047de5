import type { KeyEvent } from "../screen/key-event.ts"

export type TypedKey = Extract<KeyEvent, { readonly type: "key" }>

/** The key inserts its text. */
export function isText({ chord, text }: TypedKey): boolean {
  return text !== "" && !/^(?:ctrl|alt)\+./u.test(chord) && !/\p{Cc}/u.test(text)
}
