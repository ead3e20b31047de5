import type { JsonSchema } from "../protocol/tool.ts"
import type { DefinedTool } from "./define-tool.ts"
import type { ToolEntry, ToolMarks } from "./tool.ts"

/** A built-in tool in the generated manifest, from which a start lists the tools without loading their code. */
export interface ManifestEntry {
  readonly name: string
  readonly toolset: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly marks: ToolMarks
}

/** Imports the code of a built-in tool. */
export interface BuiltinTool {
  readonly load: () => Promise<DefinedTool>
}

/** The registry entries of all built-in tools that are in both tables, sorted by name. */
export function builtinEntries(
  manifest: Readonly<Record<string, ManifestEntry>>,
  loaders: Readonly<Record<string, BuiltinTool>>,
): readonly ToolEntry[] {
  return Object.keys(loaders)
    .toSorted()
    .flatMap((name) => {
      const listed = Object.hasOwn(manifest, name) ? manifest[name] : undefined
      const loader = loaders[name]
      return listed === undefined || loader === undefined ? [] : [builtinEntry(listed, loader)]
    })
}

function builtinEntry({ marks, ...facts }: ManifestEntry, { load }: BuiltinTool): ToolEntry {
  return {
    ...facts,
    ...marks,
    source: { kind: "builtin" },
    load: async () => (await load()).runnable,
  }
}
