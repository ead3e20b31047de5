import type { ResultNoteSource } from "../agent/dispatch/result-note.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import type { Workspace } from "../exec/workspace.ts"
import { writablePlaces } from "./session-workspace.ts"

const PROBE_MS = 6000
const STOPPED_WRITE = /Read-only file system|\bEROFS\b/u
const NO_NETWORK =
  /could not resolve host|temporary failure in name resolution|name or service not known|network is unreachable|\bEAI_AGAIN\b|\bENETUNREACH\b/iu

/**
 * A command that fails at the walls of the sandbox only sees an odd disk or a dead network. The model is told what it ran into,
 * where it may work, and what the person can change.
 */
export function sandboxNote(
  workspace: Workspace,
  { config, environment, home }: { readonly config: Config; readonly environment: Environment; readonly home: Home },
): ResultNoteSource | undefined {
  if (workspace.kind !== "local" || config.get("terminal.sandbox") === "off") return undefined
  const places = writablePlaces(workspace.cwd(), { config, home }).join(", ")
  let probing: Promise<boolean> | undefined
  const probe = async (): Promise<boolean> => {
    const { probeSandbox } = await import("../exec/sandbox/probe-sandbox.ts")
    const found = await probeSandbox({
      path: environment.get("PATH") ?? "",
      signal: AbortSignal.timeout(PROBE_MS),
    })
    return found.ok
  }
  return async ({ tool, error = "" }) => {
    if (tool !== "terminal" && tool !== "process") return undefined
    const stopsWrite = STOPPED_WRITE.test(error)
    const stopsNetwork = !config.get("terminal.sandbox_network") && NO_NETWORK.test(error)
    if ((!stopsWrite && !stopsNetwork) || !(await (probing ??= probe()))) return undefined
    return stopsWrite
      ? `[Commands run in a sandbox and may write only to ${places} and the caches of package managers. Work there, or ask the person ` +
          "to add the place to terminal.sandbox_write or to set terminal.sandbox to off.]"
      : "[Commands run in a sandbox without network. If the network is needed, ask the person to set terminal.sandbox_network to true.]"
  }
}
