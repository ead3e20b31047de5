import { spawn } from "node:child_process"
import type { ChildProcessWithoutNullStreams } from "node:child_process"

import { errorCode } from "../../base/system-error.ts"
import { findSafeGit, NO_PROGRAMS } from "../safe-git.ts"
import { keepPlainConfig } from "./store-config.ts"

/** The repository that checkpoints use. Git runs on it without the user's settings, hooks and repositories. */
export interface ShadowRepository {
  readonly gitDir: string
  /** Value of the PATH variable, to find git. */
  readonly searchPath: string
}

export interface GitProcessResult {
  readonly code: number
  readonly stdout: Buffer
  readonly stderr: string
  /** Whether output beyond the limit was dropped. */
  readonly truncated: boolean
}

export interface GitOptions {
  readonly signal: AbortSignal
  readonly maxBytes?: number
}

const MAX_BYTES = 64 * 1024 * 1024

/** Git is not installed. */
export class GitMissingError extends Error {
  override readonly name = "GitMissingError"
}

/** Runs git until it exits. Rejects with `GitMissingError` when git is not installed, and with the signal's reason on abort. */
export async function runGit(
  repository: ShadowRepository,
  args: readonly string[],
  options: GitOptions,
): Promise<GitProcessResult> {
  options.signal.throwIfAborted()
  const child = startGit(repository, args)
  child.stdin.end()
  const limit = options.maxBytes ?? MAX_BYTES
  const output = collect(child.stdout, limit)
  const errors = collect(child.stderr, 10_000)
  const code = await waitForExit(child, options.signal)
  return { code, stdout: output.bytes(), stderr: errors.bytes().toString("utf8"), truncated: output.truncated() }
}

/** Like `runGit`, but rejects when git exits with a code other than 0. */
export async function gitOutput(
  repository: ShadowRepository,
  args: readonly string[],
  options: GitOptions,
): Promise<Buffer> {
  const result = await runGit(repository, args, options)
  if (result.code !== 0) throw new Error(`git ${args[0] ?? ""} failed: ${result.stderr.trim().slice(0, 500)}`)
  return result.stdout
}

/**
 * Starts git. The caller writes its input, reads its output and ends it. Throws `GitMissingError` when there is none that an
 * administrator has installed.
 */
export function startGit(repository: ShadowRepository, args: readonly string[]): ChildProcessWithoutNullStreams {
  const git = findSafeGit(repository.searchPath)
  if (git === undefined) throw new GitMissingError(MISSING)
  keepPlainConfig(repository.gitDir)
  const child = spawn(git.program, [...NO_PROGRAMS, ...SETTINGS, ...args], {
    cwd: "/",
    env: {
      ...git.environment,
      GIT_DIR: repository.gitDir,
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_SYSTEM: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_ATTR_NOSYSTEM: "1",
      GIT_NO_REPLACE_OBJECTS: "1",
    },
    stdio: ["pipe", "pipe", "pipe"],
    // A process group of its own, because garbage collection starts further processes, which must not survive it: see `killGit`.
    detached: true,
  })
  child.stdin.on("error", () => {
    // Git exited before reading all input; the exit code shows whether that is an error.
  })
  return child
}

const MISSING = "git cannot be started; install it to use checkpoints"

const SETTINGS = [
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.quotePath=false",
  "log.showRoot=false",
  "fastimport.unpackLimit=1",
].flatMap((setting) => ["-c", setting])

/** Resolves with the exit code. Kills the process and rejects when the signal aborts. */
export function waitForExit(child: ChildProcessWithoutNullStreams, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const onAbort = (): void => {
    killGit(child)
    reject(signal.reason instanceof Error ? signal.reason : new Error("interrupted"))
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener("abort", onAbort, { once: true })
  child.once("error", (cause) => {
    reject(new GitMissingError(MISSING, { cause }))
  })
  child.once("close", (code) => {
    signal.removeEventListener("abort", onAbort)
    resolve(code ?? -1)
  })
  return promise
}

/** Kills git and the processes that it has started. */
export function killGit({ pid }: ChildProcessWithoutNullStreams): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch (error) {
    // It has ended already.
    if (errorCode(error) !== "ESRCH") throw error
  }
}

function collect(stream: NodeJS.ReadableStream, limit: number) {
  const chunks: Buffer[] = []
  let kept = 0
  let dropped = false
  stream.on("data", (chunk: Buffer) => {
    const part = chunk.subarray(0, limit - kept)
    if (part.length < chunk.length) dropped = true
    if (part.length > 0) chunks.push(part)
    kept += part.length
  })
  return { bytes: () => Buffer.concat(chunks), truncated: () => dropped }
}
