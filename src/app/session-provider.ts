import type { ProviderHost } from "../knowledge/memory/provider-host.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { OpenSessionOptions, Shared } from "./session-options.ts"

/** The external memory that `memory.provider` names; undefined when there is none or it cannot be used. */
export async function openProvider(
  session: {
    readonly id: SessionId
    readonly options: OpenSessionOptions
    readonly tools: readonly ToolDefinition[]
  },
  { config, home, clock, log, memoryProviders }: Shared,
): Promise<ProviderHost | undefined> {
  const wanted = config.get("memory.provider")
  if (wanted === "") return undefined
  const provider = memoryProviders.find(({ name }) => name === wanted)
  if (provider === undefined) {
    log.warning(`there is no memory provider "${wanted}"; memory.provider is ignored`)
    return undefined
  }
  const { createProviderHost } = await import("../knowledge/memory/provider-host.ts")
  const host = createProviderHost({
    provider,
    clock,
    log,
    takenToolNames: new Set(session.tools.map(({ name }) => name)),
    context: {
      sessionId: session.id,
      hermesHome: home.path,
      platform: session.options.platform,
      agentContext: "primary",
      agentIdentity: home.profile,
      agentWorkspace: session.options.cwd,
    },
  })
  const start = await host.initialize()
  if (start.kind !== "ready") log.warning(start.message)
  return start.kind === "ready" || start.kind === "late" ? host : undefined
}
