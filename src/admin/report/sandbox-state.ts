import { ALLOW_NETWORK_HINT, probeSandbox } from "../../exec/sandbox/probe-sandbox.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** Whether commands of the model run in the sandbox; `text` explains it to the user. */
export type SandboxState =
  | { readonly kind: "on"; readonly text: string }
  /** Switched off, or not used because commands run on another machine or in a container. */
  | { readonly kind: "off"; readonly text: string }
  /** The sandbox does not work here. With `required` no command runs at all. */
  | { readonly kind: "missing"; readonly text: string; readonly required: boolean }

/** Runs a command in the sandbox to find out: the kernel may forbid what the installed program needs. */
export async function sandboxState(
  { config, environment }: Pick<LoadedHome, "config" | "environment">,
  signal: AbortSignal,
): Promise<SandboxState> {
  const backend = config.get("terminal.backend")
  if (backend !== "local") return { kind: "off", text: `not used: commands run in ${backend}` }
  const mode = config.get("terminal.sandbox")
  if (mode === "off")
    return { kind: "off", text: "switched off by terminal.sandbox: commands may write wherever you may" }
  const setting = config.get("terminal.sandbox_network")
  const hasNetwork = setting === true
  const found = await probeSandbox({
    path: environment.get("PATH") ?? "",
    signal,
    ...(hasNetwork || mode === "required" ? {} : { alternative: ALLOW_NETWORK_HINT }),
  })
  if (!found.ok) return { kind: "missing", text: found.error, required: mode === "required" || !hasNetwork }
  const network = setting === "list" ? "with the listed hosts as" : hasNetwork ? "with" : "without"
  return {
    kind: "on",
    text: `works: commands write only to the workspace and temporary directories, ${network} network${seatbeltLimits(setting, process.platform)}`,
  }
}

/** What the sandbox of macOS lacks, compared with Linux. */
export function seatbeltLimits(network: boolean | "list", platform: NodeJS.Platform): string {
  if (platform !== "darwin") return ""
  const open = network === true ? ["Unix sockets stay open unless terminal.sandbox_network is list or false"] : []
  const limits = [
    ...open,
    "the service of the Keychain can be reached",
    "a process that leaves its process group outlives its command",
  ]
  return `; on macOS, ${limits.join(", ")}`
}
