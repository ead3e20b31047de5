import { spawn } from "node:child_process"
import { closeSync, constants, openSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { errorCode } from "./system-error.ts"

/** `unsupported`: the file system, or this machine, has no way to lock. `timeout`: another process held the lock until the end. */
export type Flock =
  | { readonly kind: "locked"; release(): void }
  | { readonly kind: "unsupported" | "timeout"; release(): void }

/**
 * Locks a file with flock(2), which Node does not offer and the Python edition uses. The file is created and never removed: a
 * process that waits for a removed file would lock another one than those that come later. Throws the signal's reason, or a
 * system error of opening the file.
 */
export async function flock(
  path: string,
  options: { waitMs: number; signal?: AbortSignal | undefined },
): Promise<Flock> {
  const timeout = AbortSignal.timeout(Math.max(options.waitMs, MIN_WAIT_MS))
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout])
  const outcome = HAS_OPEN_LOCK ? await openLocked(path, signal) : await lockByProgram(path, signal)
  if (outcome.kind === "timeout") options.signal?.throwIfAborted()
  return outcome
}

/** Starting a program takes time, even when no other process holds the lock. */
const MIN_WAIT_MS = 1000

/** On macOS and the BSDs, open(2) can lock. */
const HAS_OPEN_LOCK = ["darwin", "freebsd", "openbsd", "netbsd"].includes(process.platform)
/** From `fcntl.h` of these systems; Node has no constant for it. */
const O_EXLOCK = 0x20
const POLL_MS = 20

async function openLocked(path: string, signal: AbortSignal): Promise<Flock> {
  for (;;) {
    try {
      return held(openSync(path, OPEN_FLAGS | constants.O_NONBLOCK | O_EXLOCK, 0o600))
    } catch (cause) {
      const code = errorCode(cause)
      if (code === "EOPNOTSUPP" || code === "ENOTSUP") return nothing("unsupported")
      if (code !== "EAGAIN" && code !== "EWOULDBLOCK") throw cause
    }
    if (signal.aborted) return nothing("timeout")
    await delay(POLL_MS)
  }
}

const OPEN_FLAGS = constants.O_RDWR | constants.O_CREAT

/**
 * A lock of flock(2) belongs to the open file, which a child process shares. So a program that inherits the descriptor locks it for
 * this process too, and the lock stays when the program exits. It blocks in the kernel, so there is no polling.
 */
const PROGRAMS: readonly (readonly [string, ...string[]])[] = [
  // From util-linux or BusyBox.
  ["flock", "-x", "3"],
  ["perl", "-e", 'open(my $file, "+<&=", 3) or exit 2; flock($file, 2) or exit 3'],
  ["python3", "-c", "import fcntl; fcntl.flock(3, fcntl.LOCK_EX)"],
]

/** Not the user's PATH: commands of a model may be able to write one of its directories. */
const SYSTEM_PATH = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"

async function lockByProgram(path: string, signal: AbortSignal): Promise<Flock> {
  const descriptor = openSync(path, OPEN_FLAGS, 0o600)
  for (const command of PROGRAMS) {
    if (await succeeds(command, descriptor, signal)) return held(descriptor)
    if (signal.aborted) break
  }
  closeSync(descriptor)
  return nothing(signal.aborted ? "timeout" : "unsupported")
}

async function succeeds(
  [program, ...args]: readonly [string, ...string[]],
  descriptor: number,
  signal: AbortSignal,
): Promise<boolean> {
  return await new Promise((resolve) => {
    const child = spawn(program, args, {
      stdio: ["ignore", "ignore", "ignore", descriptor],
      env: { PATH: SYSTEM_PATH },
      // In its own process group, so that Ctrl+C does not end it.
      detached: true,
      signal,
      killSignal: "SIGKILL",
    })
    child.once("error", () => resolve(false))
    child.once("exit", (code) => resolve(code === 0))
  })
}

function held(descriptor: number): Flock {
  return { kind: "locked", release: () => closeSync(descriptor) }
}

function nothing(kind: "unsupported" | "timeout"): Flock {
  return { kind, release: () => undefined }
}
