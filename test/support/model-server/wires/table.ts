import type { PathMatch, Wire, WireName } from "../wire.ts"
import { anthropicMessages } from "./anthropic-messages.ts"
import { bedrockConverse } from "./bedrock-converse.ts"
import { chatCompletions } from "./chat-completions.ts"
import { gemini } from "./gemini.ts"
import { responses } from "./responses.ts"

const WIRES: readonly Wire[] = [chatCompletions, responses, anthropicMessages, bedrockConverse, gemini]

/** Finds the wire format by the end of the path, so that any prefix of a vendor or proxy works. */
export function matchWire(path: string): { readonly wire: Wire; readonly match: PathMatch } | undefined {
  for (const wire of WIRES) {
    const match = wire.match(path)
    if (match !== undefined) return { wire, match }
  }
  return undefined
}

export function wireNamed(name: WireName): Wire {
  const wire = WIRES.find((candidate) => candidate.name === name)
  if (wire === undefined) throw new Error(`unknown wire format ${name}`)
  return wire
}
