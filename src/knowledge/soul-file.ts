import { UnusableFileError, readRegularFile } from "../base/regular-file.ts"
import { explainSystemError, isNotFound } from "../base/system-error.ts"
import { prepareContextText } from "./read-context-file.ts"

/**
 * Reads the user's description of who Hermes is. Returns an empty text when there is none, or when it cannot be used, which `warning`
 * explains. Synchronous, because the prompt of a new session needs it.
 */
export function readSoul(
  path: string,
  options: {
    readonly maxChars: number
    /** The text that a new home contains. It is returned without a scan. */
    readonly defaultText: string
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
  if (content.trim() === options.defaultText) return { text: options.defaultText }
  const outcome = prepareContextText(content, { name: "SOUL.md", maxChars: options.maxChars })
  if (outcome.kind === "none") return { text: "" }
  if (outcome.kind === "skipped") return { text: "", warning: outcome.reason }
  const text = outcome.file.blocked === undefined ? outcome.file.text : ""
  return { text, ...(outcome.warning === undefined ? {} : { warning: outcome.warning }) }
}

/** A larger file is not a description. */
const MAX_BYTES = 1_000_000
