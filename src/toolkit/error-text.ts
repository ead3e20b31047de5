import { ellipsize, takeCodePoints } from "../base/text.ts"

/** The result for the model when a tool throws: type and message of the error, without text that could pass for role markup. */
export function toolFailureText(error: unknown): string {
  const type = error instanceof Error ? error.name : typeof error
  const message = error instanceof Error ? error.message : String(error)
  return sanitiseErrorText(`Tool execution failed: ${type}: ${message}`)
}

/** Error text for the model: without role tags, fences and CDATA, at most 2000 characters after the prefix. */
export function sanitiseErrorText(text: string): string {
  const bounded = takeCodePoints(text, MAX_CLEANED_CHARS)
  const plain = withoutFences(withoutTags(bounded.replaceAll(/<!\[CDATA\[|\]\]>/gu, ""))).trim()
  return PREFIX + ellipsize(plain, MAX_ERROR_CHARS)
}

const PREFIX = "[TOOL_ERROR] "
const MAX_ERROR_CHARS = 2000
/** Only the beginning is shown, so a message of megabytes is not cleaned completely. */
const MAX_CLEANED_CHARS = 20_000
const ROLE_TAG =
  /<\/?(?:tool_call|function_call|result|response|output|input|system|assistant|user)(?:\s[^<>]*)?\/?>/giu

/** Removing a tag can join the halves of another, so this repeats until no tag is left. */
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
