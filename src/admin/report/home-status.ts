import { chooseModelFor, findLocalModel } from "../../app/services/model-sources.ts"
import { counted } from "../../base/counted.ts"
import { findSurvivors } from "../../exec/background/process-file.ts"
import { loginProblems } from "../../config/stored-logins.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome, type LoadedHome } from "../loaded-home.ts"
import { countSessions, type SessionCounts } from "../sessions/read-sessions.ts"
import { cooldownText } from "./cooldown-text.ts"
import { probeProvider, selectCredential, type ProbeResult } from "./probe-provider.ts"
import { sandboxState, type SandboxState } from "./sandbox-state.ts"
import { collectSetup, type ConfiguredModelFacts, type ProgramFacts, type SetupFacts } from "./setup-facts.ts"

export interface HomeStatus {
  readonly setup: SetupFacts
  /** Why saved logins are not used. */
  readonly authProblems: readonly string[]
  readonly sessions: SessionCounts
  readonly sandbox: SandboxState
  /** Background processes of an earlier Hermes that still run. */
  readonly processes: readonly SurvivingProcess[]
  /** The reply of the provider; undefined unless it was probed. */
  readonly provider: ProbeResult | undefined
}

export interface SurvivingProcess {
  readonly command: string
  readonly pid: number
}

/** Reports how a home is set up. With `probe`, sends a request to the provider of the chosen model. */
export async function homeStatus(
  context: HomeContext,
  options: { readonly program: ProgramFacts; readonly probe: boolean; readonly signal: AbortSignal },
): Promise<HomeStatus> {
  const { program, probe, signal } = options
  const home = await loadHome(context)
  const setup = collectSetup(home, program)
  return {
    setup: { ...setup, model: await withLocalServer(setup.model, { home, signal }) },
    authProblems: loginProblems(home.home),
    sessions: await countSessions(home),
    sandbox: await sandboxState(home, signal),
    processes: findSurvivors(home.home.file("processes.json")).map(({ command, pid }) => ({ command, pid })),
    provider: probe ? await probeChosenProvider(home, signal) : undefined,
  }
}

/** A session without a configured provider uses the model of a local server, if one is running. */
async function withLocalServer(
  model: ConfiguredModelFacts,
  { home, signal }: { readonly home: LoadedHome; readonly signal: AbortSignal },
): Promise<ConfiguredModelFacts> {
  if (model.kind === "unusable" || !model.demo) return model
  const found = await findLocalModel(home, { signal })
  if (found === undefined) return model
  const models = found.kind === "one" ? [found.chosen] : found.models
  const [first] = models
  if (first === undefined) return model
  return {
    kind: "chosen",
    provider: found.server,
    model:
      found.kind === "one"
        ? first.runtime.model
        : `one of ${counted(models.length, "model")}; choose with \`hermes model\``,
    address: first.runtime.baseUrl,
    keySource: first.runtime.credentialSource,
    demo: false,
  }
}

async function probeChosenProvider(home: LoadedHome, signal: AbortSignal): Promise<ProbeResult | undefined> {
  const chosen = chooseModelFor(home, {})
  if (!chosen.ok || chosen.value.runtime.provider === "demo") return undefined
  const found = await selectCredential(home, chosen.value)
  if (found.kind === "cooldown") return { level: "warning", text: cooldownText(found, home) }
  const credential = found.kind === "usable" ? found.credential : undefined
  return await probeProvider(home, chosen.value, { credential, signal })
}
