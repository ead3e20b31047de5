/** Whether a text can be a key at all: example files and templates are full of words that stand for one. */
export function isUsableKey(key: string): boolean {
  return !PLACEHOLDERS.has(key.trim().toLowerCase())
}

const PLACEHOLDERS = new Set(["", "your-key", "your-api-key", "changeme", "***", "none"])
