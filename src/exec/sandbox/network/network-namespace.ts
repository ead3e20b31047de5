import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { closeSync, openSync, readFileSync } from "node:fs"
import { Server } from "node:net"

/** A network of its own for sandboxed commands, with no route anywhere but to a server of this process. */
export interface NetworkNamespace {
  /** Accepts the connections that commands make to `PROXY_ADDRESS`. */
  readonly server: Server
  /** The command line that starts a program in this network. */
  readonly prefix: readonly string[]
  close(): void
}

export const PROXY_ADDRESS = "127.0.0.1:3128"

const START_MS = 10_000

interface NetworkPrograms {
  readonly bubblewrap: string
  readonly nsenter: string
}

/**
 * Creates the network. A short-lived helper opens the listening socket inside and hands it to this process; a socket keeps the network it was
 * opened in. So there is no relay process and no Unix socket that a command could reach. Rejects where the kernel forbids it.
 */
export async function createNetworkNamespace(
  { bubblewrap, nsenter }: NetworkPrograms,
  signal: AbortSignal,
): Promise<NetworkNamespace> {
  const helper = spawn(
    bubblewrap,
    [
      "--unshare-user",
      "--unshare-net",
      "--dev-bind",
      "/",
      "/",
      "--die-with-parent",
      "--",
      process.execPath,
      "-e",
      LISTEN,
    ],
    { stdio: ["ignore", "ignore", "ignore", "ipc"], env: {} },
  )
  try {
    const server = await listeningServer(helper, AbortSignal.any([signal, AbortSignal.timeout(START_MS)]))
    const [user, network] = openNamespaces(helper)
    helper.disconnect()
    return {
      server,
      prefix: [
        nsenter,
        `--user=/proc/${process.pid}/fd/${user}`,
        `--net=/proc/${process.pid}/fd/${network}`,
        "--preserve-credentials",
        "--",
      ],
      close: () => {
        server.close()
        closeSync(user)
        closeSync(network)
      },
    }
  } catch (error) {
    helper.kill("SIGKILL")
    throw error
  }
}

/** Runs in the helper: listens, sends the socket, and exits when this process has opened the namespaces and disconnects. */
const LISTEN = `
const server = require("node:net").createServer()
const [host, port] = ${JSON.stringify(PROXY_ADDRESS.split(":"))}
server.listen({ host, port: Number(port) }, () => process.send("listening", server))
process.on("disconnect", () => process.exit(0))
`

async function listeningServer(helper: ChildProcess, signal: AbortSignal): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>()
  const fail = (): void => {
    reject(new Error("a network for sandboxed commands cannot be created"))
  }
  signal.addEventListener("abort", fail, { once: true })
  helper.once("error", fail)
  helper.once("exit", fail)
  helper.once("message", (_message, handle) => {
    if (handle instanceof Server) resolve(handle)
    else fail()
  })
  try {
    return await promise
  } finally {
    signal.removeEventListener("abort", fail)
  }
}

/** bubblewrap itself stays outside; the program that it started is inside. */
function openNamespaces({ pid }: ChildProcess): readonly [user: number, network: number] {
  const [inside = ""] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ")
  const user = openSync(`/proc/${inside}/ns/user`, "r")
  return [user, openSync(`/proc/${inside}/ns/net`, "r")]
}
