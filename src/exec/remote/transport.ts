import { randomHex } from "../../base/random-and-hash.ts"
import type { Result } from "../../base/result.ts"
import { askClient } from "./client-process.ts"

/** The way to a place that is reached through a program of this machine: a container, another computer, a cloud sandbox. */
export interface Transport {
  /** For logs: `ssh me@box`, `modal sandbox …`. */
  readonly name: string
  /** The environment of that program, not of commands over there. */
  readonly environment: Readonly<Record<string, string>>
  /** The program with its arguments that runs a POSIX shell script over there; its `$1`, `$2`, … are `args`. */
  commandLine(script: string, args: readonly string[]): readonly string[]
  /** Whether what is written to the program's standard input arrives at the script. */
  readonly pipesInput: boolean
  /** Only text comes back, output and errors together: bytes must be written as text for the way. */
  readonly isTextOnly?: boolean
  /** One sentence for the model about why the place could not be reached. */
  explain(failure: TransportFailure): string
  /** Brings a lost place back, where that can be done; undefined when the failure is of another kind. */
  reopen?(failure: TransportFailure, signal: AbortSignal): Promise<Result<undefined> | undefined>
}

export interface TransportFailure {
  readonly code: number
  readonly stderr: string
  readonly notStarted?: string
}

export type ScriptAnswer =
  | { readonly kind: "answered"; readonly code: number; readonly stdout: Buffer; readonly stderr: string }
  | { readonly kind: "unreachable"; readonly error: string }

export interface ScriptOptions {
  readonly stdin?: Uint8Array | undefined
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** A place that is gone is brought back for this. */
  readonly mayReopen?: boolean
}

/**
 * Runs one of our own scripts over there. A script ends with code 0, or with another one and a reason on stderr. What a start-up file
 * over there prints before the script is left out.
 */
export async function askScript(
  transport: Transport,
  call: { readonly script: string; readonly args: readonly string[] },
  options: ScriptOptions,
): Promise<ScriptAnswer> {
  const first = await askOnce(transport, call, options)
  if (first.kind === "answered") return first
  if (options.mayReopen !== true) return { kind: "unreachable", error: first.error }
  const reopened = await transport.reopen?.(first.failure, options.signal)
  if (reopened === undefined) return { kind: "unreachable", error: first.error }
  if (!reopened.ok) return { kind: "unreachable", error: reopened.error }
  return await askOnce(transport, call, options)
}

/** How much input one call can carry where input travels inside the script. */
export const INLINE_INPUT_BYTES = 48 * 1024

async function askOnce(
  transport: Transport,
  { script, args }: { readonly script: string; readonly args: readonly string[] },
  options: ScriptOptions,
): Promise<
  | (ScriptAnswer & { readonly kind: "answered" })
  | { readonly kind: "unreachable"; readonly error: string; readonly failure: TransportFailure }
> {
  const tag = `hermes-${randomHex(8)}`
  const isTextOnly = transport.isTextOnly === true
  const marked = markedScript(tag, isTextOnly ? asText(script) : `(\n${script}\n)`, options.stdin !== undefined)
  const inline = options.stdin !== undefined && !transport.pipesInput
  const answer = await askClient(
    transport.commandLine(inline ? withInlineInput(marked, options.stdin) : marked, args),
    { ...options, environment: transport.environment, stdin: inline ? undefined : options.stdin },
  )
  const said = answer.ended === "exited" ? betweenMarks(answer.stdout, tag) : undefined
  if (said !== undefined) {
    const parts = isTextOnly ? fromText(said.stdout) : { stdout: said.stdout, stderr: answer.stderr }
    return { kind: "answered", code: said.code, ...parts }
  }
  const failure: TransportFailure = {
    code: answer.code,
    stderr: answer.stderr,
    ...(answer.notStarted === undefined ? {} : { notStarted: answer.notStarted }),
  }
  return { kind: "unreachable", error: whyUnreachable(transport, answer.ended, { failure, options }), failure }
}

function whyUnreachable(
  transport: Transport,
  ended: "exited" | "timed-out" | "interrupted",
  { failure, options }: { readonly failure: TransportFailure; readonly options: ScriptOptions },
): string {
  if (ended === "interrupted") return "interrupted"
  if (ended === "timed-out") return `no answer within ${options.timeoutMs / 1000} s; ${transport.explain(failure)}`
  return transport.explain(failure)
}

/**
 * The client's own exit code tells little, so the script says how it ended. It reads its input to the end, because podman gives up all
 * output of a command that it cannot write to any more.
 */
function markedScript(tag: string, body: string, hasInput: boolean): string {
  const drain = hasInput ? "cat >/dev/null\n" : ""
  return `printf '\\036%s\\036' ${tag}\n${body}\nended=$?\n${drain}printf '\\036%s %s\\036' ${tag} "$ended"`
}

/** What the script said, when it came to its end. */
function betweenMarks(stdout: Buffer, tag: string): { readonly code: number; readonly stdout: Buffer } | undefined {
  const opening = `\u001E${tag}\u001E`
  const closing = `\u001E${tag} `
  const start = stdout.indexOf(opening)
  const end = stdout.lastIndexOf(closing)
  if (start === -1 || end === -1) return undefined
  const code = Number.parseInt(stdout.subarray(end + closing.length).toString("latin1"), 10)
  return { code, stdout: stdout.subarray(start + opening.length, end) }
}

/** The script reads the input from a here-document, in a text form that survives every shell. */
export function withInlineInput(script: string, input: Uint8Array): string {
  const text = Buffer.from(input).toString("base64").replaceAll(/.{76}/g, "$&\n")
  return `base64 -d <<'HERMES_INPUT' | {\n${text}\nHERMES_INPUT\n${script}\n}`
}

/** Output as a text form of its bytes, then the errors. */
function asText(script: string): string {
  return `said=$(mktemp -d)
(
${script}
) >"$said/out" 2>"$said/errors"
code=$?
base64 <"$said/out"; printf '\\036'; cat "$said/errors"; rm -rf -- "$said"
(exit $code)`
}

function fromText(answer: Buffer): { readonly stdout: Buffer; readonly stderr: string } {
  const [output = "", errors = ""] = answer.toString("utf8").split("\u001E")
  return { stdout: Buffer.from(output, "base64"), stderr: errors }
}
