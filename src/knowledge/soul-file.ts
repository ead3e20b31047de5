import { UnusableFileError, readRegularFile } from "../base/regular-file.ts"
import { explainSystemError, isNotFound } from "../base/system-error.ts"
import { usableText } from "./read-context-file.ts"

/**
 * The person's own words about who Hermes is; empty when there are none or when they cannot be used, which `warning` explains.
 * Synchronous, because the prompt of a new session waits for it.
 */
export function readSoul(
  path: string,
  options: {
    readonly maxChars: number
    /** What a new home holds: our own words need no look. */
    readonly unchanged: string
  },
): { readonly text: string; readonly warning?: string } {
  let content: string
  try {
    content = readRegularFile(path, { maxBytes: MAX_BYTES }).bytes.toString("utf8")
  } catch (error) {
    if (isNotFound(error)) return { text: "" }
    const reason = error instanceof UnusableFileError ? error.message : explainSystemError(error)
    return { text: "", warning: `SOUL.md was not read, so the default identity is used: ${reason}` }
  }
  if (content.trim() === options.unchanged) return { text: options.unchanged }
  const outcome = usableText(content, { name: "SOUL.md", maxChars: options.maxChars })
  if (outcome.kind === "none") return { text: "" }
  if (outcome.kind === "skipped") return { text: "", warning: outcome.reason }
  const text = outcome.file.blocked === undefined ? outcome.file.text : ""
  return { text, ...(outcome.warning === undefined ? {} : { warning: outcome.warning }) }
}

/** A file beyond this is a mistake. */
const MAX_BYTES = 1_000_000
