import { sha256Hex } from "../../base/random-and-hash.ts"

/** A server that names no id gets one from us; the same call always gets the same. */
export function derivedCallId(name: string, args: string, position: number): string {
  return `call_${sha256Hex(`${name}:${args}:${position}`).slice(0, 12)}`
}
