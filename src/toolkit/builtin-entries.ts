import type { JsonSchema } from "../protocol/tool.ts"
import type { DefinedTool } from "./define-tool.ts"
import type { ToolEntry, ToolMarks } from "./tool.ts"

/** The plain facts of a built-in tool, written at build time: the start path lists tools without loading their code. */
export interface ManifestEntry {
  readonly name: string
  readonly toolset: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly marks: ToolMarks
}

/** How a built-in tool's code is reached, and whether it can work here. */
export interface BuiltinTool {
  readonly load: () => Promise<DefinedTool>
  readonly available?: ToolEntry["available"]
  readonly describe?: ToolEntry["describe"]
}

/** The entries of all built-in tools that have both facts and code, sorted by name. */
export function builtinEntries(
  manifest: Readonly<Record<string, ManifestEntry>>,
  loaders: Readonly<Record<string, BuiltinTool>>,
): readonly ToolEntry[] {
  return Object.keys(loaders)
    .toSorted()
    .flatMap((name) => {
      const facts = Object.hasOwn(manifest, name) ? manifest[name] : undefined
      const loader = loaders[name]
      return facts === undefined || loader === undefined ? [] : [builtinEntry(facts, loader)]
    })
}

function builtinEntry({ marks, ...facts }: ManifestEntry, { load, available, describe }: BuiltinTool): ToolEntry {
  return {
    ...facts,
    ...marks,
    ...(available !== undefined && { available }),
    ...(describe !== undefined && { describe }),
    source: { kind: "builtin" },
    load: async () => (await load()).runnable,
  }
}
