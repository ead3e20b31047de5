import { spawn } from "node:child_process"
import type { ChildProcessWithoutNullStreams } from "node:child_process"

/** How git is called: on the shadow store alone, blind to every setting, hook and repository of the person. */
export interface GitPlace {
  readonly gitDir: string
  /** Where git is looked for. */
  readonly path: string
}

export interface GitAnswer {
  readonly code: number
  readonly stdout: Buffer
  readonly stderr: string
  /** Output beyond the limit was dropped. */
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

/** Runs git to its end. Rejects with `GitMissingError` where there is none, and with the signal's reason. */
export async function runGit(place: GitPlace, args: readonly string[], options: GitOptions): Promise<GitAnswer> {
  options.signal.throwIfAborted()
  const child = startGit(place, args)
  child.stdin.end()
  const limit = options.maxBytes ?? MAX_BYTES
  const output = collect(child.stdout, limit)
  const errors = collect(child.stderr, 10_000)
  const code = await ended(child, options.signal)
  return { code, stdout: output.bytes(), stderr: errors.bytes().toString("utf8"), truncated: output.truncated() }
}

/** As `runGit`, for commands that must not fail. */
export async function gitOutput(place: GitPlace, args: readonly string[], options: GitOptions): Promise<Buffer> {
  const answer = await runGit(place, args, options)
  if (answer.code !== 0) throw new Error(`git ${args[0] ?? ""} failed: ${answer.stderr.trim().slice(0, 500)}`)
  return answer.stdout
}

/** A running git that the caller feeds, reads and ends. */
export function startGit(place: GitPlace, args: readonly string[]): ChildProcessWithoutNullStreams {
  const child = spawn("git", [...SETTINGS, ...args], {
    cwd: "/",
    env: {
      PATH: place.path,
      LC_ALL: "C",
      GIT_DIR: place.gitDir,
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_SYSTEM: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_ATTR_NOSYSTEM: "1",
      GIT_TERMINAL_PROMPT: "0",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_NO_REPLACE_OBJECTS: "1",
    },
    stdio: ["pipe", "pipe", "pipe"],
  })
  child.stdin.on("error", () => {
    // It ended before reading everything; its exit code says whether that matters.
  })
  return child
}

const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.fsmonitor=false",
  "core.quotePath=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "log.showRoot=false",
  "fastimport.unpackLimit=1",
].flatMap((setting) => ["-c", setting])

/** The exit code of a git that ends by itself. */
export function ended(child: ChildProcessWithoutNullStreams, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const onAbort = (): void => {
    child.kill("SIGKILL")
    reject(signal.reason instanceof Error ? signal.reason : new Error("stopped"))
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener("abort", onAbort, { once: true })
  child.once("error", (cause) => {
    reject(new GitMissingError("git cannot be started; install it to use checkpoints", { cause }))
  })
  child.once("close", (code) => {
    signal.removeEventListener("abort", onAbort)
    resolve(code ?? -1)
  })
  return promise
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
