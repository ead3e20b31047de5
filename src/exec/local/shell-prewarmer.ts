import { lstatSync, readFileSync } from "node:fs"

import { orAborted } from "../../base/abort.ts"
import type { LocalShell, PrewarmedShell } from "./local-command.ts"
import { startPrewarmedShell } from "./prewarmed-shell.ts"

/** After this long without a command, starting a shell for the next one is not a noticeable delay. */
const MAX_AGE_MS = 5 * 60_000
/** A shell that takes longer to start will not start. */
const MAX_START_MS = 1000
/** Enough for the conversations that are active at the same time. Each shell is one process, in the sandbox three. */
const MAX_SHELLS = 16

/** The prewarmed shells of a process. */
export interface PrewarmedShells {
  open(options: ShellPrewarmerOptions): ShellPrewarmer
  /** Kills all of them; no new ones are started. */
  dispose(): void
}

export interface ShellPrewarmerOptions extends Pick<
  LocalShell,
  "shell" | "environment" | "takePipe" | "startInHelper"
> {
  /** The sandbox command line that a command in this directory would get now. */
  readonly prefix: (cwd: string) => readonly string[] | undefined
}

/** The prewarmed shells as one workspace sees them. */
export interface ShellPrewarmer {
  /** Starts a shell for a command in this directory, unless one is ready. */
  prepare(cwd: string): void
  /**
   * Returns a prewarmed shell for one command: one whose environment and sandbox equal those that a new shell would get now, or one that
   * the helper starts at once.
   */
  take(cwd: string): Promise<PrewarmedShell | undefined>
  /** Kills the shell of this workspace; no new one is started. */
  dispose(): void
}

interface WaitingShell {
  readonly shell: PrewarmedShell
  /** The workspace that it was started for. Others may take it too if it suits them. */
  readonly owner: ShellPrewarmerOptions
  /** The directory that its sandbox was built for; undefined without a sandbox. */
  readonly cwd: string | undefined
  readonly fingerprint: string
  readonly expiry: NodeJS.Timeout
}

/**
 * Keeps a shell ready for the next command of each workspace that was active lately: starting one takes longer than most commands, and
 * meanwhile the model is thinking. Their number is limited for the whole process, and the one that has waited longest makes room.
 */
export function createPrewarmedShells(max = MAX_SHELLS): PrewarmedShells {
  const waiting = new Set<WaitingShell>()
  let isDisposed = false
  const remove = (entry: WaitingShell): PrewarmedShell => {
    waiting.delete(entry)
    clearTimeout(entry.expiry)
    return entry.shell
  }
  const find = (suits: (entry: WaitingShell) => boolean): WaitingShell | undefined => [...waiting].find(suits)
  const discard = (entry: WaitingShell | undefined): void => {
    if (entry !== undefined) remove(entry).discard()
  }
  const add = (shell: PrewarmedShell, facts: Pick<WaitingShell, "owner" | "cwd" | "fingerprint">): void => {
    const expiry = setTimeout(() => {
      discard(entry)
    }, MAX_AGE_MS).unref()
    const entry: WaitingShell = { shell, ...facts, expiry }
    waiting.add(entry)
    for (const oldest of waiting) if (waiting.size > max) discard(oldest)
  }
  return {
    open: (owner) => {
      let isClosed = false
      const environment = JSON.stringify([owner.shell, owner.environment])
      const currentSetup = (cwd: string): ShellSetup => {
        const prefix = owner.prefix(cwd)
        const fingerprint = `${environment}\0${fingerprintOf(prefix)}`
        return { prefix, cwd: prefix === undefined ? undefined : cwd, fingerprint }
      }
      const setupOrNone = (cwd: string): ShellSetup | undefined => {
        try {
          return currentSetup(cwd)
        } catch {
          // The sandbox cannot be built now. The next command reports why.
          return undefined
        }
      }
      /** Computed for the command that has just started. A change since then is detected by the next `take`. */
      let latestSetup: ShellSetup | undefined
      return {
        prepare: (cwd) => {
          if (isDisposed || isClosed) return
          const own = find((entry) => entry.owner === owner)
          if (own?.shell.isAlive() === true && (own.cwd ?? cwd) === cwd) return
          discard(own)
          // Fingerprint before the start: a change in between is then detected by `take`.
          const latest = (latestSetup?.cwd ?? cwd) === cwd ? latestSetup : undefined
          latestSetup = undefined
          const setup = latest ?? setupOrNone(cwd)
          if (setup === undefined) return
          const { prefix, ...facts } = setup
          const shell = startPrewarmedShell({ ...owner, prefix, cwd: "/", mayBlock: true })
          if (shell !== undefined) add(shell, { owner, ...facts })
        },
        take: async (cwd) => {
          const setup = currentSetup(cwd)
          latestSetup = setup
          const suits = ({ shell, fingerprint }: WaitingShell): boolean =>
            fingerprint === setup.fingerprint && shell.isAlive()
          const own = find((entry) => entry.owner === owner)
          if (own !== undefined && !suits(own)) discard(own)
          const suitable = find((entry) => entry.owner === owner) ?? find(suits)
          const shell =
            suitable === undefined
              ? startPrewarmedShell({ ...owner, prefix: setup.prefix, cwd: "/", mayBlock: false })
              : remove(suitable)
          if (shell === undefined) return undefined
          // A command waits for it now.
          shell.child.ref()
          await orAborted(shell.started, AbortSignal.timeout(MAX_START_MS))
          if (shell.child.pid !== undefined && shell.isAlive()) return shell
          shell.discard()
          return undefined
        },
        dispose: () => {
          isClosed = true
          discard(find((entry) => entry.owner === owner))
        },
      }
    },
    dispose: () => {
      isDisposed = true
      for (const entry of waiting) discard(entry)
    },
  }
}

interface ShellSetup {
  readonly prefix: readonly string[] | undefined
  readonly cwd: string | undefined
  readonly fingerprint: string
}

/**
 * Two fingerprints are equal only if a sandbox that was built for the first is still correct for the second. The arguments list the existing paths and how each
 * is mounted. A path that was replaced has lost its mount, and a file system mounted since then is not covered.
 */
function fingerprintOf(prefix: readonly string[] | undefined): string {
  if (prefix === undefined) return ""
  const paths = [...new Set(prefix)].filter((word) => word.startsWith("/"))
  return [...prefix, ...paths.map(fileIdentity), mountedFileSystems()].join("\0")
}

function mountedFileSystems(): string {
  // Elsewhere the rules of a sandbox match names, and a mount does not change them.
  return process.platform === "linux" ? readFileSync("/proc/self/mountinfo", "latin1") : ""
}

/** Tells a file from a later one with the same path: a mount belongs to the file itself, not to its name. */
function fileIdentity(path: string): string {
  const facts = lstatSync(path, { throwIfNoEntry: false })
  if (facts === undefined) return ""
  // The inode number alone is not enough, because it is reused. Without a birth time, any change counts as a replacement.
  return `${facts.dev}:${facts.ino}:${facts.birthtimeMs === 0 ? facts.ctimeMs : facts.birthtimeMs}`
}
