import { PassThrough, Writable } from "node:stream"

import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node"
import type { MessageConnection, MessageReader } from "vscode-jsonrpc/node"

import type { BackgroundCommand, Workspace } from "../workspace.ts"

/** A program that speaks the protocol on its standard streams. */
export interface MessageLink {
  readonly connection: MessageConnection
  readonly process: BackgroundCommand
  /** The end of what the program wrote to its error stream. */
  errorOutput(): string
}

const MAX_ERROR_CHARS = 4000
/** A message that never ends would fill the memory. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/** Starts a program in the workspace, where its commands run: with their environment and their walls. Rejects when that fails. */
export async function openMessageLink(
  command: string,
  place: { readonly start: Workspace["start"]; readonly cwd: string },
): Promise<MessageLink> {
  const input = new PassThrough()
  let errors = ""
  let unread = 0
  const process = await place.start(command, {
    cwd: place.cwd,
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
      // Headers and bodies are written whole, so no character is cut in two.
      process.write(chunk.toString("utf8"))
      done()
    },
  })
  const reader = new StreamMessageReader(input)
  const counting: MessageReader = {
    onError: reader.onError,
    onClose: reader.onClose,
    onPartialMessage: reader.onPartialMessage,
    listen: (take) =>
      reader.listen((message) => {
        unread = 0
        take(message)
      }),
    dispose: () => {
      reader.dispose()
    },
  }
  const connection = createMessageConnection(counting, new StreamMessageWriter(output))
  return { connection, process, errorOutput: () => errors }
}
