import { PassThrough, Writable } from "node:stream"

import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node"
import type { MessageConnection, MessageReader } from "vscode-jsonrpc/node"

import type { BackgroundCommand, Workspace } from "../workspace.ts"

/** A process that exchanges JSON-RPC messages over its standard streams. */
export interface JsonRpcProcess {
  readonly connection: MessageConnection
  readonly process: BackgroundCommand
  /** Returns the last part of its standard error output. */
  errorOutput(): string
}

const MAX_ERROR_CHARS = 4000
/** Closes the connection when a message exceeds this size, which would otherwise exhaust memory. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/** Starts the process in the workspace, with the environment and sandbox of its commands. Rejects when that fails. */
export async function startJsonRpcProcess(
  command: string,
  { start, cwd }: { readonly start: Workspace["start"]; readonly cwd: string },
): Promise<JsonRpcProcess> {
  const input = new PassThrough()
  let errors = ""
  let unread = 0
  const process = await start(command, {
    cwd,
    pty: false,
    onOutput: (text) => {
      const bytes = Buffer.from(text, "utf8")
      unread += bytes.length
      if (unread > MAX_MESSAGE_BYTES) input.destroy()
      else if (bytes.length > 0) input.write(bytes)
    },
    onErrorOutput: (text) => {
      errors = (errors + text).slice(-MAX_ERROR_CHARS)
    },
  })
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      // Headers and bodies are written whole, so chunks do not split a character.
      process.write(chunk.toString("utf8"))
      done()
    },
  })
  const reader = new StreamMessageReader(input)
  const limitedReader: MessageReader = {
    onError: reader.onError,
    onClose: reader.onClose,
    onPartialMessage: reader.onPartialMessage,
    listen: (onMessage) =>
      reader.listen((message) => {
        unread = 0
        onMessage(message)
      }),
    dispose: () => {
      reader.dispose()
    },
  }
  const connection = createMessageConnection(limitedReader, new StreamMessageWriter(output))
  return { connection, process, errorOutput: () => errors }
}
