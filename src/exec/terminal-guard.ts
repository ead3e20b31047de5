import { spawn } from "node:child_process"

import { COMMAND_VARIABLE } from "./process-tree.ts"

/** Restores the terminal and ends running commands if this process is killed and cannot do it itself. */
export interface TerminalGuard {
  /** The terminal is in order, and no command runs: the guard ends without doing anything. */
  release(): void
}

/**
 * A shell that waits for the end of this process. It has a session of its own, so that a signal to the process group of Hermes does not
 * reach it; writing to the terminal and setting its modes need no controlling terminal. Interactive shells set the modes themselves when
 * a job was killed, and would read their next line wrongly if that was changed: the modes are reset only if, a moment later, they are
 * still those of Hermes, in which keys raise no signals. Commands are killed twice, because one may have started a process meanwhile.
 */
const SCRIPT = `read -r line && exit
printf %s "$1"
for pass in 1 2; do
  for file in $(grep -lsaz "^${COMMAND_VARIABLE}=$2[.]" /proc/[0-9]*/environ); do
    process=\${file%/environ}
    kill -9 "\${process#/proc/}"
  done
done
sleep 0.1
case $(stty -a <&1) in *-isig*) stty sane <&1; esac
`

/** `sequence` ends the modes that were turned on. Without a shell there is no guard. */
export function startTerminalGuard(sequence: string): TerminalGuard {
  try {
    const guard = spawn("/bin/sh", ["-c", SCRIPT, "hermes-terminal-guard", sequence, String(process.pid)], {
      stdio: ["pipe", "inherit", "ignore"],
      detached: true,
      env: { PATH: "/usr/bin:/bin" },
    })
    guard.on("error", () => undefined)
    guard.stdin.on("error", () => undefined)
    guard.unref()
    if ("unref" in guard.stdin && typeof guard.stdin.unref === "function") guard.stdin.unref()
    return {
      release: () => {
        guard.stdin.end("done\n")
      },
    }
  } catch {
    return { release: () => undefined }
  }
}
