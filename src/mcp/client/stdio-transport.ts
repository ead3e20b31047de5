import { StringDecoder } from "node:string_decoder"

import { deserializeMessage, serializeMessage } from "@modelcontextprotocol/client"
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client"

import { errorMessage } from "../../base/system-error.ts"
import { startStdioProgram } from "../../exec/stdio-program.ts"
import { ServerEndedError } from "./explain-failure.ts"
import type { StdioExit, StdioProgram } from "../../exec/stdio-program.ts"

export interface StdioTransportOptions {
  readonly commandLine: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string
  /** Receives what the server writes to its standard error. */
  readonly onErrorOutput: (text: string) => void
}

/** A longer message ends the connection, before it fills the memory. */
const MAX_MESSAGE_CHARS = 32 * 1024 * 1024
/** A server that writes its log to stdout is broken, but usable. One that writes nothing else is not. */
const MAX_INVALID_LINES = 200

/** An MCP server that runs as a child process and exchanges one JSON message per line. */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: Transport["onmessage"]
  /**
   * The SDK recognises a stdio transport by `stderr` and `pid`. Only there it goes on with the older handshake when the newer one is not
   * answered, as by a server that takes a while to start.
   */
  readonly stderr = null
  /** Why the connection ended; completes "the server …". */
  endReason: string | undefined
  readonly #options: StdioTransportOptions
  #program: StdioProgram | undefined
  #closed = false

  constructor(options: StdioTransportOptions) {
    this.#options = options
  }

  get pid(): number | null {
    return this.#program?.pid ?? null
  }

  async start(): Promise<void> {
    const { commandLine, environment, cwd, onErrorOutput } = this.#options
    const errors = new StringDecoder("utf8")
    const program = startStdioProgram(commandLine, {
      environment,
      cwd,
      onOutput: lineReader({
        onLine: (line) => this.#receive(line),
        onOverflow: () => this.#fail(`sent a message of more than ${MAX_MESSAGE_CHARS / 1024 / 1024} MB`),
      }),
      onErrorOutput: (chunk) => {
        onErrorOutput(errors.write(chunk))
      },
    })
    this.#program = program
    program.exit.then(
      (exit) => {
        // A signal after `close` was sent by Hermes and does not say why the connection ended.
        if (!this.#closed || exit.signal === null) this.endReason ??= explainExit(exit)
        this.#end()
      },
      () => undefined,
    )
    if (program.pid === undefined) {
      const { notStarted = "unknown reason" } = await program.exit
      throw new ServerEndedError(`cannot be started: ${commandLine[0]}: ${notStarted}`, { isPermanent: true })
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#program === undefined || this.#closed) throw new Error(this.endReason ?? "the server is not running")
    await this.#program.write(serializeMessage(message))
  }

  async close(): Promise<void> {
    const program = this.#program
    this.#end()
    await program?.stop()
  }

  /** Kills the server without waiting. */
  kill(): void {
    this.#program?.kill()
  }

  #invalidLines = 0

  #receive(line: string): void {
    if (line.trim() === "" || this.#closed) return
    let message: JSONRPCMessage
    try {
      message = deserializeMessage(line)
    } catch (error) {
      this.#invalidLines += 1
      this.onerror?.(new Error(`a line on its standard output is not an MCP message: ${errorMessage(error)}`))
      if (this.#invalidLines > MAX_INVALID_LINES)
        this.#fail("writes text to its standard output that is not MCP messages")
      return
    }
    this.onmessage?.(message)
  }

  #fail(reason: string): void {
    this.endReason ??= reason
    this.#program?.kill()
    this.#end()
  }

  #end(): void {
    if (this.#closed) return
    this.#closed = true
    this.onclose?.()
  }
}

function explainExit({ code, signal, notStarted }: StdioExit): string {
  if (notStarted !== undefined) return `cannot be started: ${notStarted}`
  return signal === null ? `exited with code ${code}` : `was ended by ${signal}`
}

/** Splits output into lines and keeps no more than one unfinished line. */
function lineReader(options: {
  readonly onLine: (line: string) => void
  readonly onOverflow: () => void
}): (chunk: Buffer) => void {
  const decoder = new StringDecoder("utf8")
  let parts: string[] = []
  let length = 0
  let overflown = false
  return (chunk) => {
    if (overflown) return
    const lines = decoder.write(chunk).split("\n")
    for (const [index, line] of lines.entries()) {
      parts.push(line)
      length += line.length
      if (length > MAX_MESSAGE_CHARS) {
        overflown = true
        parts = []
        options.onOverflow()
        return
      }
      if (index === lines.length - 1) break
      const whole = parts.join("")
      parts = []
      length = 0
      options.onLine(whole)
    }
  }
}
