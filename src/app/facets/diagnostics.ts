import { lazy } from "../../base/lazy.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { LanguageDiagnostics } from "../../exec/language-server/language-diagnostics.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** Errors that language servers find in files a tool has changed. Nothing is loaded before the first change. */
export function diagnosticsFacet(context: FacetContext): AppFacet | undefined {
  const { workspace, services } = context
  if (workspace.kind !== "local" || !services.config.get("lsp.enabled")) return undefined
  // The chunk may be gone when Hermes was updated while it ran. That must not fail a write.
  const diagnostics = lazy(() =>
    openDiagnostics(context).catch((error: unknown) => {
      services.log.warning(`language servers are not available: ${errorMessage(error)}`)
      return undefined
    }),
  )
  return {
    name: "diagnostics",
    ports: () => ({
      diagnostics: { before: async (paths, signal) => await (await diagnostics())?.before(paths, signal) },
    }),
    close: async () => {
      await (await diagnostics.peek())?.close()
    },
  }
}

const PROBE_MS = 6000

async function openDiagnostics({ workspace, services, taskId }: FacetContext): Promise<LanguageDiagnostics> {
  const { config, environment, home, clock, log, version } = services
  const path = environment.get("PATH") ?? ""
  const { createLanguageDiagnostics } = await import("../../exec/language-server/language-diagnostics.ts")
  return createLanguageDiagnostics({
    settings: {
      waitMode: config.get("lsp.wait_mode"),
      waitTimeout: config.get("lsp.wait_timeout"),
      servers: config.get("lsp.servers"),
    },
    start: async (command, options) =>
      await services.sandboxedPrograms.run(taskId, () => workspace.start(command, options)),
    hasSandbox: async () => {
      if (config.get("terminal.sandbox") === "off") return false
      const { probeSandbox } = await import("../../exec/sandbox/probe-sandbox.ts")
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
