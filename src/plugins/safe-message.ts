import { errorMessage } from "../base/system-error.ts"

/** Plugins may throw anything, even objects whose message cannot be read. */
export function safeMessage(error: unknown): string {
  try {
    return errorMessage(error)
  } catch {
    return "an error that cannot be shown"
  }
}
