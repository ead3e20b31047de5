import { sha256Hex } from "../../base/random-and-hash.ts"

/** An id for a tool call that the server sent without one. The same call always gets the same id. */
export function fallbackCallId(name: string, args: string, index: number): string {
  return `call_${sha256Hex(`${name}:${args}:${index}`).slice(0, 12)}`
}
