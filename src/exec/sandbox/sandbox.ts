import { realpathSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { SandboxPrefix, SandboxTrial } from "../local/local-shell-state.ts"
import { hiddenPaths } from "./hidden-paths.ts"
import type { SandboxHomes } from "./hidden-paths.ts"
import { ALLOW_NETWORK_HINT, locateBubblewrap, probeSandbox } from "./probe-sandbox.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"

export interface SandboxSettings {
  /** `terminal.sandbox`. A permission rule that demands the sandbox makes it `required`. */
  readonly mode: "auto" | "off" | "required"
  readonly network: boolean
  /** The workspace root, temporary directories and `terminal.sandbox_write`. */
  readonly writable: readonly string[]
  /** Read-only even inside a writable directory. A writable path inside one of these stays writable. */
  readonly readOnly?: readonly string[]
  /** Paths to hide in addition to those that are hidden on every machine. */
  readonly hidden?: readonly string[]
  readonly homes: SandboxHomes
  /** The PATH to search for bubblewrap. */
  readonly path: string
  /** Work that has to be done in the sandbox anyway. Its success proves that the sandbox works and saves a probe. */
  readonly trial?: SandboxTrial | undefined
  readonly signal: AbortSignal
}

export type SandboxChoice =
  | { readonly kind: "off" }
  /** Commands run without a sandbox; the note is for the log. */
  | { readonly kind: "unavailable"; readonly note: string }
  | { readonly kind: "on"; readonly prefix: SandboxPrefix }

/** Decides whether local commands run in the sandbox. Fails when the settings require a sandbox or no network and none is available. */
export async function chooseSandbox(settings: SandboxSettings): Promise<Result<SandboxChoice>> {
  if (settings.mode === "off") return ok({ kind: "off" })
  const program = locateBubblewrap(settings.path)
  if (program !== undefined && (await settings.trial?.(prefixWith(program, settings))) === true) {
    return ok({ kind: "on", prefix: prefixWith(program, settings) })
  }
  const { mode, network, path, signal } = settings
  const alternative = mode === "required" || network ? {} : { alternative: ALLOW_NETWORK_HINT }
  const found = await probeSandbox({ path, signal, ...alternative })
  if (found.ok) return ok({ kind: "on", prefix: prefixWith(found.value, settings) })
  if (mode === "required") return fail(`commands must run in the sandbox, but ${found.error}`)
  if (!network) return fail(`terminal.sandbox_network is false, which needs the sandbox, but ${found.error}`)
  return ok({ kind: "unavailable", note: `Commands run without a sandbox: ${found.error}.` })
}

function prefixWith(program: string, settings: SandboxSettings): SandboxPrefix {
  const { homes, network } = settings
  // Resolved once, before the first command: a link that a command creates later must not make its target writable.
  const writable = settings.writable.map(resolveLinks)
  return ({ cwd, stateDirectory, hasTerminal }) => {
    // Computed for each command, because the visible directories of a home may change.
    const { hidden, shown } = hiddenPaths(homes)
    return sandboxArguments({
      program,
      writable: [...writable, resolveLinks(stateDirectory)],
      readOnly: settings.readOnly ?? [],
      hidden: [...hidden, ...(settings.hidden ?? [])],
      shown,
      network,
      cwd,
      keepTerminal: hasTerminal,
    })
  }
}

/** Resolves links in the existing part of a path. */
function resolveLinks(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // The path does not exist yet.
    return dirname(path) === path ? path : join(resolveLinks(dirname(path)), basename(path))
  }
}
