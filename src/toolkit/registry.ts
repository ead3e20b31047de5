import type { Logger } from "../base/logger.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { isToolName } from "./tool-name.ts"
import type { ToolEntry } from "./tool.ts"

/** The tools of one app. The app registers the built-in tools when it is created. */
export interface ToolRegistry {
  /** Adds or replaces a tool. Refuses and logs an invalid name and a name that another toolset already uses. */
  register(entry: ToolEntry): Result<void>
  get(name: string): ToolEntry | undefined
  /** A copy that later registrations do not change. */
  snapshot(): RegistrySnapshot
}

export interface RegistrySnapshot {
  readonly tools: ReadonlyMap<string, ToolEntry>
}

export function createToolRegistry({ log }: { readonly log: Pick<Logger, "error"> }): ToolRegistry {
  const tools = new Map<string, ToolEntry>()
  return {
    register: (entry) => {
      const refusal = refusalOf(entry, tools.get(entry.name))
      if (refusal !== undefined) {
        log.error(refusal)
        return fail(refusal)
      }
      tools.set(entry.name, entry)
      return ok(undefined)
    },
    get: (name) => tools.get(name),
    snapshot: () => ({ tools: new Map(tools) }),
  }
}

function refusalOf(entry: ToolEntry, existing: ToolEntry | undefined): string | undefined {
  if (!isToolName(entry.name)) {
    return `tool "${entry.name}" of toolset ${entry.toolset} was not registered: a name has 1 to 64 letters, digits and underscores`
  }
  if (existing === undefined || existing.toolset === entry.toolset) return undefined
  return `tool ${entry.name} of toolset ${entry.toolset} was not registered: toolset ${existing.toolset} already has a tool of that name`
}
