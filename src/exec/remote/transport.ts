import { randomHex } from "../../base/random-and-hash.ts"
import type { Result } from "../../base/result.ts"
import { runProgram } from "../run-program.ts"

/** The connection to a remote workspace (container, ssh host, cloud sandbox) through a client program on this machine. */
export interface Transport {
  /** For the log: `ssh me@box`, `modal sandbox …`. */
  readonly name: string
  /** The environment of the client program, not of remote commands. */
  readonly environment: Readonly<Record<string, string>>
  /** Returns the client command line that runs a POSIX shell script remotely with `args` as `$1`, `$2`, … */
  commandLine(script: string, args: readonly string[]): readonly string[]
  /** Whether the client passes its stdin on to the script. */
  readonly pipesInput: boolean
  /** The client returns text only, with stdout and stderr merged: binary output must be encoded. */
  readonly isTextOnly?: boolean
  /** Explains in one sentence, for the model, why the workspace could not be reached. */
  explain(failure: TransportFailure): string
  /** Restores a lost workspace, for example a stopped container. Undefined when the failure has another cause. */
  reopen?(failure: TransportFailure, signal: AbortSignal): Promise<Result<undefined> | undefined>
}

export interface TransportFailure {
  readonly code: number
  readonly stderr: string
  readonly notStarted?: string
}

export type ScriptResult =
  | { readonly kind: "completed"; readonly code: number; readonly stdout: Buffer; readonly stderr: string }
  | { readonly kind: "unreachable"; readonly error: string }

export interface ScriptOptions {
  readonly stdin?: Uint8Array | undefined
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Reopens a lost workspace and retries once. */
  readonly mayReopen?: boolean
}

/**
 * Runs one of our own scripts in the remote workspace. A failing script exits with a code other than 0 and prints the reason to stderr.
 * Output that a remote start-up file prints before the script is dropped.
 */
export async function runScript(
  transport: Transport,
  call: { readonly script: string; readonly args: readonly string[] },
  options: ScriptOptions,
): Promise<ScriptResult> {
  const first = await runScriptOnce(transport, call, options)
  if (first.kind === "completed") return first
  if (options.mayReopen !== true) return { kind: "unreachable", error: first.error }
  const reopened = await transport.reopen?.(first.failure, options.signal)
  if (reopened === undefined) return { kind: "unreachable", error: first.error }
  if (!reopened.ok) return { kind: "unreachable", error: reopened.error }
  return await runScriptOnce(transport, call, options)
}

/** How much input one call can carry when the input is embedded in the script. */
export const INLINE_INPUT_BYTES = 48 * 1024

async function runScriptOnce(
  transport: Transport,
  { script, args }: { readonly script: string; readonly args: readonly string[] },
  options: ScriptOptions,
): Promise<
  | (ScriptResult & { readonly kind: "completed" })
  | { readonly kind: "unreachable"; readonly error: string; readonly failure: TransportFailure }
> {
  const tag = `hermes-${randomHex(8)}`
  const isTextOnly = transport.isTextOnly === true
  const marked = markedScript(
    tag,
    isTextOnly ? withEncodedOutput(script) : `(\n${script}\n)`,
    options.stdin !== undefined,
  )
  const inline = options.stdin !== undefined && !transport.pipesInput
  const result = await runProgram(
    transport.commandLine(inline ? withInlineInput(marked, options.stdin) : marked, args),
    { ...options, environment: transport.environment, stdin: inline ? undefined : options.stdin },
  )
  const output = result.ended === "exited" ? betweenMarkers(result.stdout, tag) : undefined
  if (output !== undefined) {
    const streams = isTextOnly ? parseEncodedOutput(output.stdout) : { stdout: output.stdout, stderr: result.stderr }
    return { kind: "completed", code: output.code, ...streams }
  }
  const failure: TransportFailure = {
    code: result.code,
    stderr: result.stderr,
    ...(result.notStarted === undefined ? {} : { notStarted: result.notStarted }),
  }
  return { kind: "unreachable", error: whyUnreachable(transport, result.ended, { failure, options }), failure }
}

function whyUnreachable(
  transport: Transport,
  ended: "exited" | "timed-out" | "interrupted",
  { failure, options }: { readonly failure: TransportFailure; readonly options: ScriptOptions },
): string {
  if (ended === "interrupted") return "interrupted"
  if (ended === "timed-out") return `no response within ${options.timeoutMs / 1000} s; ${transport.explain(failure)}`
  return transport.explain(failure)
}

/**
 * The client's exit code is unreliable, so the script prints its own. It also drains its input, because podman drops all output of a
 * command whose stdin it can no longer write to.
 */
function markedScript(tag: string, body: string, hasInput: boolean): string {
  const drain = hasInput ? "cat >/dev/null\n" : ""
  return `printf '\\036%s\\036' ${tag}\n${body}\nended=$?\n${drain}printf '\\036%s %s\\036' ${tag} "$ended"`
}

/** Returns the script's output and exit code; undefined when it did not run to its end. */
function betweenMarkers(stdout: Buffer, tag: string): { readonly code: number; readonly stdout: Buffer } | undefined {
  const opening = `\u001E${tag}\u001E`
  const closing = `\u001E${tag} `
  const start = stdout.indexOf(opening)
  const end = stdout.lastIndexOf(closing)
  if (start === -1 || end === -1) return undefined
  const code = Number.parseInt(stdout.subarray(end + closing.length).toString("latin1"), 10)
  return { code, stdout: stdout.subarray(start + opening.length, end) }
}

/** Embeds the input in the script as a base64 here-document. */
export function withInlineInput(script: string, input: Uint8Array): string {
  const text = Buffer.from(input).toString("base64").replaceAll(/.{76}/g, "$&\n")
  return `base64 -d <<'HERMES_INPUT' | {\n${text}\nHERMES_INPUT\n${script}\n}`
}

/** Prints stdout encoded as base64, then stderr. */
function withEncodedOutput(script: string): string {
  return `output=$(mktemp -d)
(
${script}
) >"$output/out" 2>"$output/errors"
code=$?
base64 <"$output/out"; printf '\\036'; cat "$output/errors"; rm -rf -- "$output"
(exit $code)`
}

function parseEncodedOutput(output: Buffer): { readonly stdout: Buffer; readonly stderr: string } {
  const [encoded = "", errors = ""] = output.toString("utf8").split("\u001E")
  return { stdout: Buffer.from(encoded, "base64"), stderr: errors }
}
