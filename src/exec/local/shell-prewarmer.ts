import { lstatSync, readFileSync } from "node:fs"

import type { LocalShell, PrewarmedShell } from "./local-command.ts"
import { startPrewarmedShell } from "./prewarmed-shell.ts"

/** After this long without a command, starting a shell for the next one is not a noticeable delay. */
const MAX_AGE_MS = 5 * 60_000

export interface ShellPrewarmerOptions extends Pick<LocalShell, "shell" | "environment" | "takePipe"> {
  /** The sandbox command line that a command would get now. */
  readonly prefix: () => readonly string[] | undefined
}

export interface ShellPrewarmer {
  /** Starts a shell unless one is ready. */
  prepare(): void
  /** Returns the prewarmed shell for one command, if its sandbox equals the one that a new shell would get now. */
  take(): PrewarmedShell | undefined
  /** Kills the shell; no new one is started. */
  dispose(): void
}

/** Keeps one shell ready for the next command: starting one takes longer than most commands, and meanwhile the model is thinking. */
export function createShellPrewarmer(options: ShellPrewarmerOptions): ShellPrewarmer {
  let prewarmed: { readonly shell: PrewarmedShell; readonly fingerprint: string } | undefined
  let expiry: NodeJS.Timeout | undefined
  const remove = () => {
    const removed = prewarmed
    prewarmed = undefined
    clearTimeout(expiry)
    return removed
  }
  const discard = (): void => {
    remove()?.shell.discard()
  }
  let isDisposed = false
  const currentSandbox = (): SandboxSetup => {
    const prefix = options.prefix()
    return { prefix, fingerprint: fingerprintOf(prefix) }
  }
  /** Computed for the command that has just started. A change since then is detected by the next `take`. */
  let latestSandbox: SandboxSetup | undefined
  return {
    prepare: () => {
      if (isDisposed || prewarmed?.shell.isReady() === true) return
      discard()
      // Fingerprint before the start: a change in between is then detected by `take`.
      const { prefix, fingerprint } = latestSandbox ?? currentSandbox()
      latestSandbox = undefined
      const shell = startPrewarmedShell({ ...options, prefix, cwd: "/" })
      if (shell === undefined) return
      prewarmed = { shell, fingerprint }
      expiry = setTimeout(discard, MAX_AGE_MS).unref()
    },
    take: () => {
      const taken = remove()
      if (taken === undefined) return undefined
      latestSandbox = currentSandbox()
      if (taken.shell.isReady() && taken.fingerprint === latestSandbox.fingerprint) return taken.shell
      taken.shell.discard()
      return undefined
    },
    dispose: () => {
      isDisposed = true
      discard()
    },
  }
}

interface SandboxSetup {
  readonly prefix: readonly string[] | undefined
  readonly fingerprint: string
}

/**
 * Two fingerprints are equal only if a sandbox that was built for the first is still correct for the second. The arguments list the existing paths and how each
 * is mounted. A path that was replaced has lost its mount, and a file system mounted since then is not covered.
 */
function fingerprintOf(prefix: readonly string[] | undefined): string {
  if (prefix === undefined) return ""
  const paths = [...new Set(prefix)].filter((word) => word.startsWith("/"))
  return [...prefix, ...paths.map(fileIdentity), readFileSync("/proc/self/mountinfo", "latin1")].join("\0")
}

/** Tells a file from a later one with the same path: a mount belongs to the file itself, not to its name. */
function fileIdentity(path: string): string {
  const facts = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  if (facts === undefined) return ""
  // The inode number alone is not enough, because it is reused. Without a birth time, any change counts as a replacement.
  return `${facts.dev}:${facts.ino}:${facts.birthtimeNs === 0n ? facts.ctimeNs : facts.birthtimeNs}`
}
