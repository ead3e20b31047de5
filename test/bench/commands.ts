import { spawn } from "node:child_process"
import { once } from "node:events"
import { tmpdir } from "node:os"
import { setTimeout as pause } from "node:timers/promises"

import { fail, ok } from "../../src/base/result.ts"
import { createLocalWorkspace } from "../../src/exec/local/local-workspace.ts"
import { chooseSandbox } from "../../src/exec/sandbox/sandbox.ts"
import type { OpenSandbox } from "../../src/exec/local/local-shell-state.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import type { Measurement } from "./measurement.ts"
import { median } from "./measurement.ts"
import { runAlternately } from "./rounds.ts"

/** The time between two commands with a fast model. */
const THINKING_MS = 30
const COMMANDS_PER_ROUND = 10

/** The overhead of the shell state and the sandbox for one command, with a pause between commands as in a conversation. */
export const commands: Measurement = {
  name: "commands",
  run: async ({ rounds }) => {
    await using home = await temporaryHome()
    const options = { cwd: home.workdir, userHome: home.userHome, environment: home.env, startupFiles: [] }
    const plain = createLocalWorkspace(options)
    const sandboxed = createLocalWorkspace({ ...options, openSandbox: sandboxOf(home) })
    const limits = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 1000, keepState: true }
    const runIn = (workspace: typeof plain) => async (): Promise<void> => {
      const { code, error } = await workspace.run("true", limits).exit
      if (code !== 0) throw new Error(`the command ended with ${code}: ${error ?? ""}`)
    }
    const found = await runAlternately(rounds.oneShot, {
      plain: () => timed(runIn(plain)),
      sandboxed: () => timed(runIn(sandboxed)),
      floor: () => timed(bareShell),
    })
    await Promise.all([plain.close(), sandboxed.close()])
    const overhead = (side: "plain" | "sandboxed"): number => median(found[side]) - median(found.floor)
    return [
      { name: "one command, beyond sh -c true", unit: "ms", ours: overhead("plain"), target: { atMost: 10 } },
      { name: "one command, sandboxed, beyond it", unit: "ms", ours: overhead("sandboxed"), target: { atMost: 10 } },
    ]
  },
}

/** The median duration in milliseconds, without the pauses. */
async function timed(work: () => Promise<void>): Promise<number> {
  const times: number[] = []
  for (let index = 0; index < COMMANDS_PER_ROUND; index += 1) {
    await pause(THINKING_MS)
    const started = performance.now()
    await work()
    times.push(performance.now() - started)
  }
  return median(times)
}

async function bareShell(): Promise<void> {
  const child = spawn("/bin/sh", ["-c", "true"], { stdio: ["ignore", "pipe", "pipe"] })
  for (const stream of [child.stdout, child.stderr]) stream.resume()
  await once(child, "close")
}

function sandboxOf(home: TemporaryHome): OpenSandbox {
  return async ({ trial, signal }) => {
    const chosen = await chooseSandbox({
      mode: "required",
      network: true,
      writable: [home.workdir, tmpdir()],
      homes: { userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path },
      path: home.env["PATH"] ?? "",
      trial,
      signal,
    })
    if (!chosen.ok) return fail(chosen.error)
    return ok(chosen.value.kind === "on" ? chosen.value.prefix : undefined)
  }
}
