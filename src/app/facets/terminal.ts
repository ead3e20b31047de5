import { lazy } from "../../base/lazy.ts"
import type { ResultNote } from "../../agent/facet.ts"
import { createSudoPort } from "../../toolkit/ports/sudo.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import { writableDirectories } from "../session/session-workspace.ts"

/** What the terminal tools need: background processes, the sudo password, and hints about the sandbox. */
export function terminalFacet(context: FacetContext): AppFacet {
  const { environment, processes } = context.services
  const sudo = createSudoPort(environment.get("SUDO_PASSWORD"))
  const hint = sandboxHint(context)
  return {
    name: "terminal",
    ports: () => ({ processes: () => processes.open(), sudo }),
    ...(hint === undefined ? {} : { afterTool: hint }),
  }
}

const PROBE_MS = 6000
/** Seatbelt has no read-only disk: it refuses the call. */
const WRITE_DENIED =
  process.platform === "darwin" ? /Operation not permitted|\bEPERM\b/u : /Read-only file system|\bEROFS\b/u
const NO_NETWORK =
  /could not resolve host|temporary failure in name resolution|name or service not known|network is unreachable|\bEAI_AGAIN\b|\bENETUNREACH\b/iu

const SOCKET_REFUSED = /\b(?:listen|connect|socket|bind)\b[^\n]*(?:\bEPERM\b|operation not permitted)/iu
const PROTECTED = /could not (?:lock|write) config file|Device or resource busy|\bEBUSY\b/u

/**
 * A command that the sandbox stops only sees a read-only disk or a dead network. The note explains to the model what happened, where
 * it may write, and which setting the user can change.
 */
function sandboxHint({ workspace, services }: FacetContext): ResultNote | undefined {
  const { config, environment, home } = services
  if (workspace.kind !== "local" || config.get("terminal.sandbox") === "off") return undefined
  const writable = writableDirectories(workspace.cwd(), { config, home }).join(", ")
  const hasSandbox = lazy(async () => {
    const { probeSandbox } = await import("../../exec/sandbox/probe-sandbox.ts")
    const found = await probeSandbox({ path: environment.get("PATH") ?? "", signal: AbortSignal.timeout(PROBE_MS) })
    return found.ok
  })
  /** The user sees only the error of the command. Each kind is explained once. */
  const explained = new Set<string>()
  const explain = (forUser: string): void => {
    if (!explained.has(forUser)) services.commandNotices.add([forUser])
    explained.add(forUser)
  }
  const notes = [
    { sign: PROTECTED, text: PROTECTED_NOTE, forUser: PROTECTED_EXPLANATION },
    { sign: SOCKET_REFUSED, text: SOCKET_NOTE, forUser: SOCKET_EXPLANATION },
    {
      sign: WRITE_DENIED,
      forUser: `The sandbox lets commands write only to ${writable} and the caches of package managers. Add a directory with \`hermes config set terminal.sandbox_write '["DIRECTORY"]'\`.`,
      text:
        `[Commands run in a sandbox and may write only to ${writable} and the caches of package managers. Work there, or ask the user ` +
        "to add the directory to terminal.sandbox_write or to set terminal.sandbox to off. Files there that other programs execute or obey, such as " +
        ".envrc or what a git hook starts, are read-only too; a file tool can write them, and asks the user.]",
    },
  ]
  return async ({ entry, error = "" }) => {
    if (entry?.provenance !== "command") return undefined
    const isOffline = config.get("terminal.sandbox_network") === false && NO_NETWORK.test(error)
    const note = isOffline ? OFFLINE : notes.find(({ sign }) => sign.test(error))
    if (note === undefined || !(await hasSandbox())) return undefined
    explain(note.forUser)
    return note.text
  }
}

const OFFLINE = {
  text: "[Commands run in a sandbox without network. If the network is needed, ask the user to set terminal.sandbox_network to true.]",
  forUser: "The sandbox has no network. Allow it with `hermes config set terminal.sandbox_network true`.",
}
const SOCKET_NOTE =
  "[Commands run in a sandbox that refuses Unix sockets. If one is needed, ask the user to add its path to terminal.sandbox_sockets.]"
const PROTECTED_NOTE =
  "[In the sandbox, commands cannot change or move what git, shells and editors execute, such as .git/config and hooks. If that is needed, ask the user to run the command.]"
const SOCKET_EXPLANATION =
  "The sandbox refuses Unix sockets. Allow one with `hermes config set terminal.sandbox_sockets '[\"PATH\"]'`."
const PROTECTED_EXPLANATION =
  "The sandbox keeps commands from changing what git, shells and editors execute, such as .git/config and hooks. Run the command yourself if you want the change: type ! and the command."
