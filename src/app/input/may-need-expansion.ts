import { mayHaveReferences } from "./parse-references.ts"

/** False for a message without references, commands and pasted texts, for which nothing has to be loaded. */
export function mayNeedExpansion(text: string): boolean {
  return text.includes("{!") || text.includes("[Pasted text #") || mayHaveReferences(text)
}
