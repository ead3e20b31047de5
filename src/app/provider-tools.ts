import { isRecord, parseJson } from "../base/json.ts"
import { ok } from "../base/result.ts"
import { ellipsize } from "../base/text.ts"
import type { ProviderHost, ProviderTool } from "../knowledge/memory/provider-host.ts"
import type { ToolEntry } from "../toolkit/tool.ts"

const MAX_PREVIEW_CHARS = 200

/** The tools of an external memory, as the door takes them. What they do with the arguments is out of our sight. */
export function providerTools({ name, tools }: ProviderHost): readonly ToolEntry[] {
  return tools.map((tool) => entryOf(name, tool))
}

function entryOf(provider: string, tool: ProviderTool): ToolEntry {
  const { definition } = tool
  return {
    ...definition,
    toolset: "memory",
    source: { kind: "plugin", plugin: provider },
    inChildren: false,
    load: () =>
      Promise.resolve({
        parse: (args) =>
          ok({
            args,
            access: "network",
            subjects: [{ kind: "name", name: definition.name }],
            preview: ellipsize(JSON.stringify(args), MAX_PREVIEW_CHARS),
            run: async ({ signal }) => {
              const text = await tool.run(args, { signal })
              const parsed = parseJson(text)
              return { content: isRecord(parsed) ? parsed : { result: text }, summary: `answered by ${provider}` }
            },
          }),
      }),
  }
}
