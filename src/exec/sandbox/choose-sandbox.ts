import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { SandboxPrefix } from "../shell-state-local.ts"
import { hiddenPlaces } from "./hidden-places.ts"
import type { SandboxHomes } from "./hidden-places.ts"
import { probeSandbox } from "./probe-sandbox.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"

export interface SandboxSettings {
  /** `terminal.sandbox`. A permission rule that demands the sandbox makes it `required`. */
  readonly mode: "auto" | "off" | "required"
  readonly network: boolean
  /** The workspace root, temporary directories and `terminal.sandbox_write`. */
  readonly writable: readonly string[]
  readonly homes: SandboxHomes
  /** The PATH that bubblewrap is looked for in. */
  readonly path: string
  readonly signal: AbortSignal
}

export type SandboxChoice =
  | { readonly kind: "off" }
  /** Commands run without walls; the note goes to `status` and `doctor`. */
  | { readonly kind: "unavailable"; readonly note: string }
  | { readonly kind: "on"; readonly prefix: SandboxPrefix }

/** Decides whether local commands run in the sandbox. Fails only where the person asked for it and it cannot be had. */
export async function chooseSandbox(settings: SandboxSettings): Promise<Result<SandboxChoice>> {
  if (settings.mode === "off") return ok({ kind: "off" })
  const found = await probeSandbox(settings)
  if (!found.ok) {
    if (settings.mode === "required") return fail(`commands must run in the sandbox, but ${found.error}`)
    return ok({ kind: "unavailable", note: `Commands run without a sandbox: ${found.error}.` })
  }
  const { homes, network } = settings
  const readOnly = [homes.hermesHome, homes.hermesRoot]
  const hidden = hiddenPlaces(homes)
  return ok({
    kind: "on",
    prefix: ({ cwd, stateDirectory, hasTerminal }) =>
      sandboxArguments({
        program: found.value,
        writable: [...settings.writable, stateDirectory],
        readOnly,
        hidden,
        network,
        cwd,
        keepTerminal: hasTerminal,
      }),
  })
}
