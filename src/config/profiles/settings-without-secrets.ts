import { secretValuesIn } from "../secrets.ts"

/** The text of a `config.yaml` without its keys, tokens and passwords, and the paths of the settings that were removed. */
export interface SettingsWithoutSecrets {
  readonly text: string
  readonly removed: readonly string[]
}

/** Keeps comments and order. Throws when the text is not valid YAML, because its secrets cannot be found then. */
export async function settingsWithoutSecrets(text: string): Promise<SettingsWithoutSecrets> {
  const { isMap, isNode, isPair, isScalar, parseDocument, visit } = await import("yaml")
  const document = parseDocument(text, { logLevel: "error" })
  const [problem] = document.errors
  if (problem !== undefined) throw problem
  const removed: string[] = []
  visit(document, {
    Pair: (_index, pair, ancestors) => {
      if (!isNode(pair.value) || isMap(pair.value)) return undefined
      const names = [...ancestors.filter(isPair), pair].map(({ key }) => (isScalar(key) ? String(key.value) : ""))
      const [name = "", parent = ""] = names.toReversed()
      const value: unknown = pair.value.toJS(document)
      const secrets = secretValuesIn({ [name]: value }, parent)
      if (secrets.every((secret) => secret === "")) return undefined
      removed.push(names.join("."))
      return visit.REMOVE
    },
  })
  return removed.length === 0 ? { text, removed } : { text: document.toString(), removed }
}
