import { errorMessage } from "../base/system-error.ts"
import type { LanguageDiagnostics } from "../exec/language-server/language-diagnostics.ts"
import type { Workspace } from "../exec/workspace.ts"
import type { Shared } from "./session-options.ts"

const PROBE_MS = 6000

/** Language servers for the files of a session; nothing is loaded before the first change. Undefined where there are none. */
export function openDiagnostics(workspace: Workspace, shared: Shared): LanguageDiagnostics | undefined {
  const { config, environment, home, clock, log, version } = shared
  if (workspace.kind !== "local" || !config.get("lsp.enabled")) return undefined
  const path = environment.get("PATH") ?? ""
  let opening: Promise<LanguageDiagnostics> | undefined
  const open = async (): Promise<LanguageDiagnostics> => {
    const { createLanguageDiagnostics } = await import("../exec/language-server/language-diagnostics.ts")
    return createLanguageDiagnostics({
      settings: {
        waitMode: config.get("lsp.wait_mode"),
        waitTimeout: config.get("lsp.wait_timeout"),
        servers: config.get("lsp.servers"),
      },
      start: (command, options) => workspace.start(command, options),
      hasWalls: async () => {
        if (config.get("terminal.sandbox") === "off") return false
        const { probeSandbox } = await import("../exec/sandbox/probe-sandbox.ts")
        return (await probeSandbox({ path, signal: AbortSignal.timeout(PROBE_MS) })).ok
      },
      home: home.path,
      userHome: home.userHome,
      path,
      version,
      clock,
      log: log.child("lsp"),
    })
  }
  // A program that was replaced while it ran may miss its code; that must not fail a write.
  const ready = (): Promise<LanguageDiagnostics | undefined> =>
    (opening ??= open()).catch((error: unknown) => {
      log.warning(`language servers cannot be used: ${errorMessage(error)}`)
      return undefined
    })
  return {
    before: async (paths, signal) => await (await ready())?.before(paths, signal),
    close: async () => {
      if (opening !== undefined) await (await ready())?.close()
    },
  }
}
