import { realpathSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { SandboxPrefix, SandboxTrial } from "../local/shell-state-local.ts"
import { hiddenPlaces } from "./hidden-places.ts"
import type { SandboxHomes } from "./hidden-places.ts"
import { LET_THEM_HAVE_NETWORK, locateBubblewrap, probeSandbox } from "./probe-sandbox.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"

export interface SandboxSettings {
  /** `terminal.sandbox`. A permission rule that demands the sandbox makes it `required`. */
  readonly mode: "auto" | "off" | "required"
  readonly network: boolean
  /** The workspace root, temporary directories and `terminal.sandbox_write`. */
  readonly writable: readonly string[]
  /** A writable place inside one of them stays writable. */
  readonly readOnly?: readonly string[]
  /** To be found empty, beside what is known of every machine. */
  readonly hidden?: readonly string[]
  readonly homes: SandboxHomes
  /** The PATH that bubblewrap is looked for in. */
  readonly path: string
  /** Work that is to be done in the sandbox anyway: when it succeeds, nothing needs to be tried before it. */
  readonly trial?: SandboxTrial | undefined
  readonly signal: AbortSignal
}

export type SandboxChoice =
  | { readonly kind: "off" }
  /** Commands run without walls; the note goes to `status` and `doctor`. */
  | { readonly kind: "unavailable"; readonly note: string }
  | { readonly kind: "on"; readonly prefix: SandboxPrefix }

/** Decides whether local commands run in the sandbox. Fails only where the person asked for it, or for no network, and it cannot be had. */
export async function chooseSandbox(settings: SandboxSettings): Promise<Result<SandboxChoice>> {
  if (settings.mode === "off") return ok({ kind: "off" })
  const program = locateBubblewrap(settings.path)
  if (program !== undefined && (await settings.trial?.(prefixWith(program, settings))) === true) {
    return ok({ kind: "on", prefix: prefixWith(program, settings) })
  }
  const { mode, network, path, signal } = settings
  const otherwise = network ? {} : { otherwise: LET_THEM_HAVE_NETWORK }
  const found = await probeSandbox({ path, signal, ...(mode === "required" ? {} : otherwise) })
  if (found.ok) return ok({ kind: "on", prefix: prefixWith(found.value, settings) })
  if (mode === "required") return fail(`commands must run in the sandbox, but ${found.error}`)
  if (!network) return fail(`commands may have no network, which only the sandbox takes away, but ${found.error}`)
  return ok({ kind: "unavailable", note: `Commands run without a sandbox: ${found.error}.` })
}

function prefixWith(program: string, settings: SandboxSettings): SandboxPrefix {
  const { homes, network } = settings
  // Once, before the first command: a link that one of them puts in the way later must lead nowhere.
  const writable = settings.writable.map(withoutLinks)
  return ({ cwd, stateDirectory, hasTerminal }) => {
    // Asked each time: what came into a home meanwhile may be seen too.
    const { hidden, shown } = hiddenPlaces(homes)
    return sandboxArguments({
      program,
      writable: [...writable, withoutLinks(stateDirectory)],
      readOnly: settings.readOnly ?? [],
      hidden: [...hidden, ...(settings.hidden ?? [])],
      shown,
      network,
      cwd,
      keepTerminal: hasTerminal,
    })
  }
}

/** Also of what does not exist yet. */
function withoutLinks(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // It may come later.
    return dirname(path) === path ? path : join(withoutLinks(dirname(path)), basename(path))
  }
}
