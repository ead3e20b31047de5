import { readFileSync, readdirSync } from "node:fs"

/**
 * What a shell of this machine must be started by, so that it gets no descriptor which Hermes itself was given by whoever started it: a
 * lock, a socket, the pipe of another program. Node keeps only the low numbers to itself. Hermes does not close them, they may be a lock
 * held for its sake. Undefined where there is none, as is usual, or where the shell cannot name them.
 */
export function closingPrefix(shell: string): readonly string[] | undefined {
  if (process.platform !== "linux" || !shell.endsWith("/bash")) return undefined
  const closed = inheritable().map((descriptor) => `${descriptor}>&-`)
  if (closed.length === 0) return undefined
  // As a POSIX shell it reads no file first, whatever the environment names.
  return [shell, "--posix", "--noprofile", "--norc", "-c", `exec ${closed.join(" ")}; exec "$@"`, "bash"]
}

const CLOSED_ON_EXEC = 0o2000000

function inheritable(): readonly number[] {
  try {
    return readdirSync("/proc/self/fd")
      .map(Number)
      .filter((descriptor) => descriptor > 2 && isInheritable(descriptor))
  } catch {
    // There is no /proc to look into.
    return []
  }
}

function isInheritable(descriptor: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/mu.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1")) ?? []
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0
  } catch {
    // It was the one that the list was read by.
    return false
  }
}
