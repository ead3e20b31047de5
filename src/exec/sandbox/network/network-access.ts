import { once } from "node:events"
import { createServer } from "node:net"
import type { Server } from "node:net"

import { findTrustedProgram } from "../../../base/find-program.ts"
import { secretHex } from "../../../base/random-and-hash.ts"
import { serveFilteringProxy } from "./filtering-proxy.ts"
import type { Destination } from "./host-list.ts"
import { createNetworkNamespace, PROXY_ADDRESS } from "./network-namespace.ts"

/** Asks whether a command may reach a host that is not listed. */
export type AskAboutHost = (destination: Destination, signal: AbortSignal) => Promise<boolean>

/** The network of the sandboxed commands of one workspace, limited to a list of hosts. */
export interface NetworkAccess {
  /** Creates the network and returns the command line that starts a program in it. Rejects where the kernel forbids it. */
  open(bubblewrap: string): Promise<readonly string[]>
  /** Opens a proxy on this machine, for a sandbox without a network of its own. */
  openLocal(): Promise<LocalProxy>
  /** Sets who is asked about other hosts. Until then they are refused. */
  onUnlistedHost(ask: AskAboutHost): void
  close(): void
}

/** Other programs on the machine can reach the port, but do not know the password. */
export interface LocalProxy {
  readonly port: number
  readonly password: string
}

export interface NetworkAccessOptions {
  readonly hosts: readonly string[]
  /** The PATH to search for helpers. */
  readonly path: string
  readonly signal: AbortSignal
}

const PASSWORD_BYTES = 16

export function createNetworkAccess({ hosts, path, signal }: NetworkAccessOptions): NetworkAccess {
  let ask: AskAboutHost = () => Promise.resolve(false)
  let close = (): void => undefined
  let isClosed = false
  let opening: Promise<readonly string[]> | undefined
  let openingLocal: Promise<LocalProxy> | undefined
  const serve = (server: Server, password?: string): (() => void) =>
    serveFilteringProxy(server, {
      hosts: () => hosts,
      mayReach: (destination, closing) => ask(destination, closing),
      password,
    })
  const open = async (bubblewrap: string): Promise<readonly string[]> => {
    const nsenter = findTrustedProgram("nsenter", path)
    if (nsenter === undefined) throw new Error("nsenter is not installed; install the package util-linux")
    const network = await createNetworkNamespace({ bubblewrap, nsenter }, signal)
    const stop = serve(network.server)
    close = () => {
      stop()
      network.close()
    }
    if (isClosed) close()
    return network.prefix
  }
  const openLocal = async (): Promise<LocalProxy> => {
    const server = createServer()
    server.listen(0, "127.0.0.1")
    await once(server, "listening", { signal })
    const password = secretHex(PASSWORD_BYTES)
    close = serve(server, password)
    if (isClosed) close()
    const address = server.address()
    if (address === null || typeof address === "string") throw new Error("the proxy for commands has no port")
    return { port: address.port, password }
  }
  return {
    open: (bubblewrap) => (opening ??= open(bubblewrap)),
    openLocal: () => (openingLocal ??= openLocal()),
    onUnlistedHost: (handler) => {
      ask = handler
    },
    close: () => {
      isClosed = true
      close()
      close = () => undefined
    },
  }
}

const PROXY = `http://${PROXY_ADDRESS}`
const SOCKS = `socks5h://${PROXY_ADDRESS}`

/** What tells programs in the sandbox about their only route. ssh has no setting for a proxy, so the shell speaks to it. */
export const PROXY_VARIABLES: Readonly<Record<string, string>> = {
  HTTP_PROXY: PROXY,
  HTTPS_PROXY: PROXY,
  ALL_PROXY: SOCKS,
  NO_PROXY: "",
  http_proxy: PROXY,
  https_proxy: PROXY,
  all_proxy: SOCKS,
  no_proxy: "",
  NODE_USE_ENV_PROXY: "1",
  npm_config_proxy: PROXY,
  npm_config_https_proxy: PROXY,
  npm_config_noproxy: "",
  GIT_SSH_COMMAND: `ssh -o ProxyCommand='${connectScript()}'`,
}

/** Opens a tunnel and joins it to standard input and output. Contains no single quotes. */
function connectScript(): string {
  const address = PROXY_ADDRESS.replace(":", "/")
  const steps = [
    `exec 3<>/dev/tcp/${address}`,
    String.raw`printf "CONNECT %%s:%%s HTTP/1.1\r\n\r\n" %h %p >&3`,
    String.raw`while read -r line <&3 && [ "\${#line}" -gt 1 ]; do :; done`,
    "cat <&3 & exec cat >&3",
  ]
  return `bash -c "${steps.join("; ").replaceAll('"', String.raw`\"`)}"`
}
