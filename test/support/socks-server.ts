import { createServer, connect } from "node:net"
import type { AddressInfo, Socket } from "node:net"

/** A SOCKS proxy on loopback, versions 4, 4a and 5. It forwards every request to one fixed address. */
export interface SocksServer extends AsyncDisposable {
  /** `127.0.0.1:port` */
  readonly hostAndPort: string
  /** The connection requests it received, in order. */
  readonly requests: readonly SocksRequest[]
  /** How many connections are open at this moment. */
  connections(): number
  forwardTo(address: string): void
}

export interface SocksRequest {
  readonly version: 4 | 5
  readonly host: string
  readonly port: number
  readonly address: "ipv4" | "ipv6" | "name"
  /** `user:password`, or the user alone with version 4; empty without a login. */
  readonly login: string
}

export interface SocksServerOptions {
  /** SOCKS 5 requires exactly this `user:password`. */
  readonly login?: string
  /** The reply code to every connection request: 0 or 90 grants it. */
  readonly reply?: number
  /** Sends nothing, closes at once, or responds like an HTTP server. */
  readonly behaves?: "silent" | "closes" | "http"
}

export async function startSocksServer(options: SocksServerOptions = {}): Promise<SocksServer> {
  const requests: SocksRequest[] = []
  const sockets = new Set<Socket>()
  let target: URL | undefined

  const track = (socket: Socket): void => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
    socket.on("error", () => socket.destroy())
  }
  const serve = async (client: Socket): Promise<void> => {
    const read = reader(client)
    if (options.behaves === "silent") return
    if (options.behaves === "closes") {
      client.destroy()
      return
    }
    if (options.behaves === "http") {
      client.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
      return
    }
    const [version] = await read(1)
    const request = version === 4 ? await readVersion4(read) : await readVersion5(client, read, options.login)
    if (request === undefined) return
    requests.push(request)
    const granted = options.reply === undefined || options.reply === 0 || options.reply === 90
    const code = options.reply ?? (request.version === 4 ? 90 : 0)
    client.write(
      request.version === 4 ? Buffer.from([0, code, 0, 0, 0, 0, 0, 0]) : Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]),
    )
    if (!granted || target === undefined) {
      client.end()
      return
    }
    const server = connect({ host: target.hostname, port: Number(target.port) })
    track(server)
    server.once("close", () => client.destroy())
    client.once("close", () => server.destroy())
    read.pipeRemaining(server)
    server.pipe(client)
  }

  const listener = createServer((client) => {
    track(client)
    serve(client).catch(() => client.destroy())
  })
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve))
  return {
    hostAndPort: `127.0.0.1:${(listener.address() as AddressInfo).port}`,
    requests,
    connections: () => sockets.size,
    forwardTo: (address) => {
      target = new URL(address)
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

type Read = ((bytes: number) => Promise<Buffer>) & { pipeRemaining(into: Socket): void }

/** Reads an exact number of bytes, no matter how they arrive in chunks. `pipeRemaining` sends everything after them to a socket. */
function reader(socket: Socket): Read {
  let buffered = Buffer.alloc(0)
  let waiting: { readonly bytes: number; readonly resolve: (read: Buffer) => void } | undefined
  const serveWaiting = (): void => {
    if (waiting === undefined || buffered.length < waiting.bytes) return
    const { bytes, resolve } = waiting
    waiting = undefined
    const result = buffered.subarray(0, bytes)
    buffered = buffered.subarray(bytes)
    resolve(result)
  }
  const onData = (chunk: Buffer): void => {
    buffered = Buffer.concat([buffered, chunk])
    serveWaiting()
  }
  socket.on("data", onData)
  const read = (bytes: number): Promise<Buffer> =>
    new Promise((resolve) => {
      waiting = { bytes, resolve }
      serveWaiting()
    })
  return Object.assign(read, {
    pipeRemaining: (into: Socket) => {
      socket.off("data", onData)
      into.write(buffered)
      socket.pipe(into)
    },
  })
}

async function readNullTerminated(read: Read): Promise<string> {
  const bytes: number[] = []
  for (;;) {
    const [byte = 0] = await read(1)
    if (byte === 0) return Buffer.from(bytes).toString("utf8")
    bytes.push(byte)
  }
}

async function readVersion4(read: Read): Promise<SocksRequest> {
  const header = await read(7)
  const login = await readNullTerminated(read)
  const named = header.readUInt32BE(3) < 256
  return {
    version: 4,
    host: named ? await readNullTerminated(read) : [...header.subarray(3)].join("."),
    port: header.readUInt16BE(1),
    address: named ? "name" : "ipv4",
    login,
  }
}

async function readVersion5(client: Socket, read: Read, wanted: string | undefined): Promise<SocksRequest | undefined> {
  const [methods = 0] = await read(1)
  const method = wanted === undefined ? 0 : 2
  if (!(await read(methods)).includes(method)) {
    client.end(Buffer.from([5, 255]))
    return undefined
  }
  client.write(Buffer.from([5, method]))
  const login = method === 0 ? "" : await readLogin(read)
  if (method === 2) {
    client.write(Buffer.from([1, login === wanted ? 0 : 1]))
    if (login !== wanted) {
      client.end()
      return undefined
    }
  }
  const type = (await read(4))[3]
  const address = type === 1 ? "ipv4" : type === 4 ? "ipv6" : "name"
  const host =
    address === "name"
      ? (await read((await read(1))[0] ?? 0)).toString("utf8")
      : address === "ipv4"
        ? [...(await read(4))].join(".")
        : (await read(16)).toString("hex")
  return { version: 5, host, port: (await read(2)).readUInt16BE(0), address, login }
}

async function readLogin(read: Read): Promise<string> {
  const [, userLength = 0] = await read(2)
  const user = (await read(userLength)).toString("utf8")
  const [passwordLength = 0] = await read(1)
  return `${user}:${(await read(passwordLength)).toString("utf8")}`
}
