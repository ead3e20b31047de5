import { chooseModelFor } from "../../app/services/model-sources.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome, type LoadedHome } from "../loaded-home.ts"
import { countSessions, type SessionCounts } from "../sessions/read-sessions.ts"
import { probeProvider, type ProbeResult } from "./probe-provider.ts"
import { sandboxState, type SandboxState } from "./sandbox-state.ts"
import { collectSetup, type ProgramFacts, type SetupFacts } from "./setup-facts.ts"

export interface HomeStatus {
  readonly setup: SetupFacts
  readonly sessions: SessionCounts
  readonly sandbox: SandboxState
  /** The reply of the provider; undefined unless it was probed. */
  readonly provider: ProbeResult | undefined
}

/** Reports how a home is set up. With `probe`, sends a request to the provider of the chosen model. */
export async function homeStatus(
  context: HomeContext,
  options: { readonly program: ProgramFacts; readonly probe: boolean; readonly signal: AbortSignal },
): Promise<HomeStatus> {
  const { program, probe, signal } = options
  const home = await loadHome(context)
  return {
    setup: collectSetup(home, program),
    sessions: await countSessions(home),
    sandbox: await sandboxState(home, signal),
    provider: probe ? await probeChosenProvider(home, signal) : undefined,
  }
}

async function probeChosenProvider(home: LoadedHome, signal: AbortSignal): Promise<ProbeResult | undefined> {
  const chosen = chooseModelFor(home, {})
  if (!chosen.ok || chosen.value.runtime.provider === "demo") return undefined
  return await probeProvider({ address: chosen.value.runtime.baseUrl, key: chosen.value.key, signal })
}
