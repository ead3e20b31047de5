import type { FacetLayer } from "../../agent/facet.ts"
import { MEMORY_GUIDANCE, memoryLayers } from "../../agent/prompt/memory-block.ts"
import { memoryStoreOptions } from "../../knowledge/memory/memory-settings.ts"
import { createMemoryStore } from "../../knowledge/memory/memory-store.ts"
import type { MemoryStore } from "../../knowledge/memory/memory-store.ts"
import type { ToolPorts } from "../../toolkit/tool.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** The two memory files of the home: in the prompt, for the memory tool, and brought up to date before messages leave the context. */
export function memoryFacet(context: FacetContext): AppFacet {
  const { config } = context.services
  const memory = openMemory(context)
  const flushMode = config.get("memory.flush_before_compress")
  let turns = 0
  let flushedAt = 0
  return {
    name: "memory",
    ports: () => ({ memory }),
    promptLayers: ({ tools, style }) => {
      const { notices, ...entries } = memory.snapshot()
      const limits = { memory: config.get("memory.memory_char_limit"), user: config.get("memory.user_char_limit") }
      const isOffered = style === "full" && tools.some(({ role }) => role === "memory")
      return Promise.resolve([
        { tier: "stable", name: "memory guidance", text: isOffered ? MEMORY_GUIDANCE : "" },
        ...memoryLayers(entries, limits),
        ...notices.map((warning): FacetLayer => ({ tier: "volatile", name: "memory", text: "", warning })),
      ])
    },
    beforeTurn: () => {
      turns += 1
      return Promise.resolve(undefined)
    },
    beforeCompression: async ({ messages, signal }) => {
      await memory.settled()
      if (flushMode === "off" || flushMode === "local") return undefined
      if (turns - flushedAt < config.get("memory.flush_min_turns")) return undefined
      flushedAt = turns
      const { flushMemory } = await import("./flush-memory.ts")
      await flushMemory(messages, { parts: context.session(), auxiliary: context.auxiliary, signal })
      return undefined
    },
  }
}

function openMemory(context: FacetContext): MemoryStore {
  const { config, environment, home, clock } = context.services
  return createMemoryStore({
    ...memoryStoreOptions({ home: home.path, config, clock }),
    ...(environment.truthy("HERMES_SAFE_MODE") ? { disabled: ["memory", "user"] as const } : {}),
    onWrite: (write) => {
      context.facets().memoryWritten(write)
    },
    searchLearnings: (query) => learningTexts(context.ports(), query),
  })
}

async function learningTexts(
  { learnings }: ToolPorts,
  query: string,
): Promise<readonly { readonly text: string; readonly at: number }[]> {
  const found = (await learnings?.())?.search(query, { limit: 20 })
  if (found?.ok !== true) return []
  return found.value.map(({ learning }) => ({
    text: `${learning.pattern}: ${learning.fix}`,
    at: learning.createdAt * 1000,
  }))
}
