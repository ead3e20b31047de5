import { LET_THEM_HAVE_NETWORK, probeSandbox } from "../../exec/sandbox/probe-sandbox.ts"
import type { Settings } from "../settings-access.ts"

/** Whether commands of the model are shut in, as a person is told. */
export type SandboxState =
  | { readonly kind: "on"; readonly text: string }
  /** Switched off, or not needed because commands run somewhere else. */
  | { readonly kind: "off"; readonly text: string }
  /** Where it is required, or nothing else would keep commands from the network, none is run. */
  | { readonly kind: "missing"; readonly text: string; readonly required: boolean }

/** Tries the sandbox, because a kernel may forbid what an installed program needs. */
export async function sandboxState({ config, environment }: Settings, signal: AbortSignal): Promise<SandboxState> {
  const backend = config.get("terminal.backend")
  if (backend !== "local") return { kind: "off", text: `not used: commands run in ${backend}` }
  const mode = config.get("terminal.sandbox")
  if (mode === "off")
    return { kind: "off", text: "switched off by terminal.sandbox: commands may write wherever you may" }
  const hasNetwork = config.get("terminal.sandbox_network")
  const found = await probeSandbox({
    path: environment.get("PATH") ?? "",
    signal,
    ...(hasNetwork || mode === "required" ? {} : { otherwise: LET_THEM_HAVE_NETWORK }),
  })
  if (!found.ok) return { kind: "missing", text: found.error, required: mode === "required" || !hasNetwork }
  const network = hasNetwork ? "with" : "without"
  return { kind: "on", text: `works: commands write only to the workspace and temporary places, ${network} network` }
}
