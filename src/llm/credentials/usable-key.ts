/** False for placeholders from example files and templates. */
export function isUsableKey(key: string): boolean {
  return !PLACEHOLDERS.has(key.trim().toLowerCase())
}

const PLACEHOLDERS = new Set(["", "your-key", "your-api-key", "changeme", "***", "none"])
