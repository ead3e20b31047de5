import { ellipsize, takeCodePoints } from "../base/text.ts"

/** What the model is told when a tool throws: the type and message of the error, without text that could pass for framing. */
export function toolFailureText(error: unknown): string {
  const type = error instanceof Error ? error.name : typeof error
  const message = error instanceof Error ? error.message : String(error)
  return sanitiseErrorText(`Tool execution failed: ${type}: ${message}`)
}

/** Error text as it may reach the model: no role tags, fences or CDATA around it, at most 2000 characters behind the prefix. */
export function sanitiseErrorText(text: string): string {
  const bounded = takeCodePoints(text, MAX_CLEANED_CHARS)
  const plain = withoutFences(withoutTags(bounded.replaceAll(/<!\[CDATA\[|\]\]>/gu, ""))).trim()
  return PREFIX + ellipsize(plain, MAX_ERROR_CHARS)
}

const PREFIX = "[TOOL_ERROR] "
const MAX_ERROR_CHARS = 2000
/** Only the beginning is shown, so a message of megabytes is not cleaned to its end. */
const MAX_CLEANED_CHARS = 20_000
const ROLE_TAG =
  /<\/?(?:tool_call|function_call|result|response|output|input|system|assistant|user)(?:\s[^<>]*)?\/?>/giu

/** Removing a tag can join the halves of another, so it is repeated until nothing is left to remove. */
function withoutTags(text: string): string {
  let current = text
  for (;;) {
    const next = current.replaceAll(ROLE_TAG, "")
    if (next === current) return current
    current = next
  }
}

function withoutFences(text: string): string {
  return text
    .trim()
    .replace(/^```[\w-]*\n?/u, "")
    .replace(/\n?```$/u, "")
}
