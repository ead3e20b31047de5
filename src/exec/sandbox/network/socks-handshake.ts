import type { Socket } from "node:net"

import type { ProxyRequest } from "./proxy-request.ts"
import type { Destination } from "./host-list.ts"
import { readUntil } from "./read-until.ts"

const MAX_BYTES = 1024
const VERSION = 5
const CONNECT = 1
const ADDRESS_BYTES: Readonly<Record<number, number>> = { 1: 4, 4: 16 }
const DOMAIN = 3
const NO_AUTHENTICATION = 0
const PASSWORD = 2
const NO_METHOD = 0xff
const PASSWORD_VERSION = 1

const SUCCEEDED = 0
const NOT_ALLOWED = 2
const UNKNOWN_COMMAND = 7
const UNKNOWN_ADDRESS = 8

/**
 * Reads the greeting and the request of a SOCKS5 client (RFC 1928), with the password if there is one (RFC 1929). Only CONNECT is
 * served.
 */
export async function socksHandshake(
  client: Socket,
  first: Buffer,
  password?: string,
): Promise<ProxyRequest | undefined> {
  const reader = createReader(client, first)
  const greeting = await reader.take(2)
  const methods = greeting === undefined ? undefined : await reader.take(greeting[1] ?? 0)
  const method = password === undefined ? NO_AUTHENTICATION : PASSWORD
  if (methods === undefined || !methods.includes(method)) {
    client.end(Buffer.from([VERSION, NO_METHOD]))
    return undefined
  }
  client.write(Buffer.from([VERSION, method]))
  if (password !== undefined) {
    const isRight = (await readPassword(reader)) === password
    client.write(Buffer.from([PASSWORD_VERSION, isRight ? SUCCEEDED : NOT_ALLOWED]))
    if (!isRight) {
      client.end()
      return undefined
    }
  }
  const request = await reader.take(4)
  if (request === undefined) return undefined
  const [, command, , kind] = request
  if (command !== CONNECT) return reply(client, UNKNOWN_COMMAND)
  const host = await readHost(reader, kind ?? 0)
  const port = (await reader.take(2))?.readUInt16BE()
  if (host === undefined || port === undefined) return reply(client, UNKNOWN_ADDRESS)
  const destination: Destination = { host, port }
  return {
    destination,
    head: reader.rest(),
    accept: () => client.write(replyBytes(SUCCEEDED)),
    refuse: () => {
      reply(client, NOT_ALLOWED)
    },
  }
}

async function readPassword(reader: Reader): Promise<string | undefined> {
  const version = (await reader.take(1))?.[0]
  if (version !== PASSWORD_VERSION) return undefined
  await readField(reader)
  return await readField(reader)
}

async function readField(reader: Reader): Promise<string | undefined> {
  const length = (await reader.take(1))?.[0]
  return length === undefined ? undefined : (await reader.take(length))?.toString("latin1")
}

async function readHost(reader: Reader, kind: number): Promise<string | undefined> {
  if (kind === DOMAIN) return await readField(reader)
  const bytes = await reader.take(ADDRESS_BYTES[kind] ?? 0)
  if (bytes === undefined || bytes.length === 0) return undefined
  if (bytes.length === 4) return bytes.join(".")
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(":")
}

interface Reader {
  /** Undefined when the client closed before. */
  take(bytes: number): Promise<Buffer | undefined>
  rest(): Buffer
}

function createReader(client: Socket, first: Buffer): Reader {
  let buffered = first
  return {
    take: async (bytes) => {
      const read = await readUntil(client, buffered, { until: bytes, maxBytes: MAX_BYTES })
      if (read === undefined) return undefined
      buffered = read.subarray(bytes)
      return read.subarray(0, bytes)
    },
    rest: () => buffered,
  }
}

function reply(client: Socket, code: number): undefined {
  client.end(replyBytes(code))
  return undefined
}

/** The bound address in a reply is not used by clients. */
function replyBytes(code: number): Buffer {
  return Buffer.from([VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0])
}
