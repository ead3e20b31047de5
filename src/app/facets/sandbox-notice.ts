import { findTrustedProgram } from "../../base/find-program.ts"
import { rememberHint } from "../services/onboarding-hints.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

const PROBE_MS = 6000

/**
 * Informs the user once that commands run without a sandbox: when the session opens if bubblewrap is missing, and before the first command if it
 * does not work, or on another system than Linux. `hermes doctor` and `hermes status` always say it.
 */
export function sandboxNoticeFacet({ workspace, services, isPreview }: FacetContext): AppFacet | undefined {
  const { config, environment } = services
  const isSeen = config.get("onboarding.seen")["no_sandbox"] === true
  // With `required`, or without network, no command runs at all, and the error says why.
  if (isPreview || isSeen || workspace.kind !== "local" || config.get("terminal.sandbox") !== "auto") return undefined
  const path = environment.get("PATH") ?? ""
  let state: "unknown" | "shown" | "remembered" = "unknown"
  const reasonNow = async (): Promise<string | undefined> => {
    const { probeSandbox } = await import("../../exec/sandbox/probe-sandbox.ts")
    const found = await probeSandbox({ path, signal: AbortSignal.timeout(PROBE_MS) })
    return found.ok ? undefined : found.error
  }
  return {
    name: "sandbox notice",
    promptLayers: async () => {
      // Elsewhere, finding out takes long: the first command loads what the sandbox needs anyway.
      if (process.platform !== "linux" || findTrustedProgram("bwrap", path) !== undefined) return []
      const reason = await reasonNow()
      if (reason === undefined) return []
      state = "shown"
      return [{ tier: "volatile", name: "sandbox notice", text: "", warning: noticeText(reason) }]
    },
    toolStarting: async (call) => {
      if (state !== "unknown" || call.access !== "exec" || (await workspace.isSandboxed?.()) === true) return undefined
      const reason = await reasonNow()
      if (reason === undefined) return undefined
      state = "shown"
      call.tell("warning", noticeText(reason))
      return undefined
    },
    runEnded: async () => {
      if (state !== "shown") return
      state = "remembered"
      await rememberHint("no_sandbox", services)
    },
  }
}

function noticeText(reason: string): string {
  return `Commands run without a sandbox: ${reason}. They can read and change whatever you can, including your keys, and reach the network and other programs. \`hermes doctor\` repeats this; it is not shown here again.`
}
