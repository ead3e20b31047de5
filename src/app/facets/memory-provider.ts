import { orAborted } from "../../base/abort.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { ok } from "../../base/result.ts"
import { ellipsize } from "../../base/text.ts"
import { platformOf } from "../../agent/origin.ts"
import type { MemoryProviderHost, MemoryProviderTool } from "../../knowledge/memory/memory-provider-host.ts"
import { contentText } from "../../protocol/message.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** The external memory that `memory.provider` names; undefined when there is none. */
export async function memoryProviderFacet(context: FacetContext): Promise<AppFacet | undefined> {
  const opened = context.isPreview ? undefined : await openHost(context)
  if (opened === undefined) return undefined
  const { host, warning } = opened
  const openingWarnings = (): readonly string[] => (warning === undefined ? [] : [warning])
  if (host === undefined) return { name: "memory provider", openingWarnings }
  const { options } = context
  let turns = 0
  return {
    name: `memory provider ${host.name}`,
    openingWarnings,
    tools: () => host.tools.map((tool) => toolEntry(host.name, tool)),
    promptLayers: () => Promise.resolve([{ tier: "volatile", name: "external memory", text: host.promptBlock() }]),
    beforeTurn: async ({ text, model, signal }) => {
      turns += 1
      host.onTurnStart(turns, text, {
        remainingTokens: options.model.runtime.contextLength,
        model: model.runtime.model,
        platform: platformOf(options.origin),
        toolCount: context.session().dispatch.tools.size,
      })
      return await orAborted(host.prefetch(text), signal)
    },
    beforeCompression: async ({ messages }) => {
      await host.drain()
      return await host.onPreCompress(messages)
    },
    rotated: ({ from, to }) => {
      host.onSessionSwitch(to, { parentSessionId: from, reset: false, rewound: false })
    },
    memoryWritten: (write) => {
      host.onMemoryWrite(write)
    },
    delegationEnded: ({ goal, summary, childSessionId }) => {
      host.onDelegation(goal, summary, { childSessionId })
    },
    afterTurn: ({ input, end: { outcome, result } }) => {
      if (outcome === "interrupted" || result.finalResponse === null) return
      host.queueSync({ user: contentText(input), assistant: result.finalResponse, messages: result.messages })
    },
    close: () => host.close({ messages: context.session().conversation.history }),
  }
}

interface OpenedHost {
  /** Undefined when the provider cannot be used, which `warning` explains. */
  readonly host?: MemoryProviderHost
  readonly warning?: string
}

async function openHost({ taskId, options, services }: FacetContext): Promise<OpenedHost | undefined> {
  const { config, home, clock, log, memoryProviders, registry } = services
  const configured = config.get("memory.provider")
  if (configured === "") return undefined
  const memoryProvider = memoryProviders.find(({ name }) => name === configured)
  if (memoryProvider === undefined) {
    const warning = `no plugin provides the memory "${configured}" that memory.provider names; only the files of the home are used`
    log.warning(warning)
    return { warning }
  }
  const { createMemoryProviderHost } = await import("../../knowledge/memory/memory-provider-host.ts")
  const host = createMemoryProviderHost({
    memoryProvider,
    clock,
    log,
    takenToolNames: new Set(registry.snapshot().tools.keys()),
    context: {
      sessionId: taskId,
      hermesHome: home.path,
      platform: platformOf(options.origin),
      agentContext: "primary",
      agentIdentity: home.profile,
      agentWorkspace: options.cwd,
    },
  })
  const start = await host.initialize()
  if (start.kind === "ready") return { host }
  return start.kind === "late" ? { host, warning: start.message } : { warning: start.message }
}

const MAX_PREVIEW_CHARS = 200

/** Its access is `network`: what the memory provider does with the arguments is unknown to Hermes. */
function toolEntry(memoryProvider: string, tool: MemoryProviderTool): ToolEntry {
  const { definition } = tool
  return {
    ...definition,
    toolset: "memory",
    // The user chose the provider, so its tools are not the first to be deferred.
    declarationRank: 1,
    source: { kind: "plugin", plugin: memoryProvider },
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
              return { content: isRecord(parsed) ? parsed : { result: text }, summary: `answered by ${memoryProvider}` }
            },
          }),
      }),
  }
}
