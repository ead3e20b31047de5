import { existsSync, readdirSync, readFileSync } from "node:fs"

import { lazy } from "../../base/lazy.ts"

/**
 * Returns a command line prefix that closes the descriptors which Hermes inherited from its parent process (a lock, a socket, another
 * program's pipe) before it starts the shell. Node sets close-on-exec only for low descriptor numbers. Hermes itself keeps them open
 * because one may be a lock held on its behalf. `kept` descriptors from 3 on belong to the new program. Undefined when there are none,
 * as is usual, or when the shell is not bash.
 */
export function closeInheritedDescriptors(shell: string, kept = 0): readonly string[] | undefined {
  if (process.platform !== "linux" || !shell.endsWith("/bash")) return undefined
  const redirections = inheritableDescriptors(3 + kept).map((descriptor) => `${descriptor}>&-`)
  if (redirections.length === 0) return undefined
  // In POSIX mode bash ignores BASH_ENV, so it sources no file.
  return [shell, "--posix", "--noprofile", "--norc", "-c", `exec ${redirections.join(" ")}; exec "$@"`, "bash"]
}

let hasOpenedTerminals = false

/** Call it before a pseudo-terminal is opened: node-pty leaves this process' end of it open in every child that is started later. */
export function noteOpenedTerminal(): void {
  hasOpenedTerminals = true
}

/** Returns a function with the results of `closeInheritedDescriptors`. Until a pseudo-terminal is opened, they do not change. */
export function createDescriptorPrefix(shell: () => string): (kept?: number) => readonly string[] | undefined {
  const atFirst = lazy(() => closeInheritedDescriptors(shell()))
  return (kept) => (kept === undefined && !hasOpenedTerminals ? atFirst() : closeInheritedDescriptors(shell(), kept))
}

const BASH = "/bin/bash"

/** The prefix for programs that may have what Hermes inherited but not its pseudo-terminals, with `kept` as above. */
export function closeTerminals(kept = 0): readonly string[] {
  if (!hasOpenedTerminals || !existsSync(BASH)) return []
  return closeInheritedDescriptors(BASH, kept) ?? []
}

const O_CLOEXEC = 0o2000000

function inheritableDescriptors(first: number): readonly number[] {
  try {
    return readdirSync("/proc/self/fd")
      .map(Number)
      .filter((descriptor) => descriptor >= first && isInheritable(descriptor))
  } catch {
    // This system has no /proc.
    return []
  }
}

function isInheritable(descriptor: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/mu.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1")) ?? []
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0
  } catch {
    // It was the descriptor that read the directory.
    return false
  }
}
