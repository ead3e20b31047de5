// @ts-check
import { appendFileSync, readFileSync } from "node:fs"
import { join } from "node:path"
/** @import { MemoryProvider, PluginContext } from "hermes-agent/plugin" */

/** @param {PluginContext} context */
export function register(context) {
  const file = join(context.dataDir, "notebook.txt")
  const lines = () => {
    try {
      return readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    } catch {
      return []
    }
  }
  /** @type {(text: string) => Set<string>} */
  const words = (text) => new Set(text.toLowerCase().match(/\p{L}{4,}/gu) ?? [])
  let isPrimary = true

  /** @type {MemoryProvider} */
  const notebook = {
    name: "notebook",
    isAvailable: () => true,
    initialize: ({ agentContext }) => {
      isPrimary = agentContext === "primary"
      return Promise.resolve()
    },
    toolSchemas: () => [],
    prefetch: (query) => {
      const wanted = words(query)
      const found = lines().filter((line) => [...words(line)].some((word) => wanted.has(word)))
      return Promise.resolve(found.slice(-5).join("\n"))
    },
    syncTurn: (user, assistant) => {
      if (isPrimary) appendFileSync(file, `${user.replaceAll("\n", " ")} -> ${assistant.replaceAll("\n", " ")}\n`)
      return Promise.resolve()
    },
  }
  context.registerMemoryProvider(notebook)
}
