import { execFile } from "node:child_process"
import { createServer } from "node:http"
import { promisify } from "node:util"

import { afterEach, describe, expect, test } from "vitest"

import { findBubblewrap } from "../../../../test/support/bubblewrap.ts"
import { titleWithReason } from "../../../../test/support/skip-reason.ts"
import { serveFilteringProxy } from "./filtering-proxy.ts"
import type { Destination } from "./host-list.ts"
import { PROXY_VARIABLES } from "./network-access.ts"
import { createNetworkNamespace, PROXY_ADDRESS } from "./network-namespace.ts"

const run = promisify(execFile)
const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined
const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

/** A server outside, and a shell whose only route is the proxy. */
async function walledShell(options: {
  readonly hosts?: (port: number) => readonly string[]
  readonly mayReach?: (destination: Destination) => Promise<boolean>
}) {
  const reached: string[] = []
  const server = createServer((request, response) => {
    reached.push(`${request.method} ${request.headers.host} ${request.url}`)
    if (request.url === "/redirect") response.writeHead(302, { location: "http://evil.test/" }).end()
    else response.end("from outside")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const network = await createNetworkNamespace(
    { bubblewrap: "/usr/bin/bwrap", nsenter: "/usr/bin/nsenter" },
    new AbortController().signal,
  )
  const stop = serveFilteringProxy(network.server, {
    hosts: () => options.hosts?.(port) ?? [],
    mayReach: options.mayReach ?? (async () => false),
    resolve: async (host) => [host === "good.test" || host === "evil.test" ? "127.0.0.1" : host],
  })
  cleanups.push(
    stop,
    () => network.close(),
    () => server.close(),
  )
  const shell = async (script: string) => {
    const [program, ...args] = [...network.prefix, "/bin/bash", "--norc", "--noprofile", "-c", script]
    const environment = {
      PATH: "/usr/bin:/bin",
      http_proxy: `http://${PROXY_ADDRESS}`,
      ALL_PROXY: `socks5h://${PROXY_ADDRESS}`,
    }
    return await run(program, args, { env: environment, timeout: 20_000 }).then(
      ({ stdout, stderr }) => stdout + stderr,
      (error: { readonly stdout: string; readonly stderr: string }) => error.stdout + error.stderr,
    )
  }
  return { shell, port, reached }
}

describe.skipIf(missing !== undefined)(titleWithReason("commands in a network of their own", missing), () => {
  test("reach a listed host over HTTP and SOCKS5", async () => {
    const { shell, port, reached } = await walledShell({ hosts: (open) => ["good.test", `127.0.0.1:${open}`] })
    expect(await shell(`curl -sS http://good.test:${port}/plain`)).toBe("from outside")
    expect(await shell(`curl -sS --socks5-hostname ${PROXY_ADDRESS} --noproxy '' http://good.test:${port}/socks`)).toBe(
      "from outside",
    )
    expect(await shell(`curl -sS -p -x http://${PROXY_ADDRESS} http://good.test:${port}/tunnel`)).toBe("from outside")
    expect(reached.map((line) => line.split(" ").at(-1))).toEqual(["/plain", "/socks", "/tunnel"])
  })

  test("are told why another host is refused, also after a redirect", async () => {
    const { shell, port, reached } = await walledShell({ hosts: (open) => ["good.test", `127.0.0.1:${open}`] })
    expect(await shell(`curl -sS http://evil.test:${port}/`)).toContain("evil.test is not in terminal.sandbox_hosts")
    expect(await shell(`curl -sSL http://good.test:${port}/redirect`)).toContain(
      "evil.test is not in terminal.sandbox_hosts",
    )
    expect(reached.map((line) => line.split(" ").at(-1))).toEqual(["/redirect"])
  })

  test("a listed name does not reach an address of this machine", async () => {
    const { shell, port, reached } = await walledShell({ hosts: () => ["good.test"] })
    expect(await shell(`curl -sS http://good.test:${port}/`)).toContain("resolves to an address of this machine")
    expect(reached).toEqual([])
  })

  test("a host that is not listed becomes a question", async () => {
    const asked: Destination[] = []
    const { shell, port } = await walledShell({
      hosts: (open) => [`127.0.0.1:${open}`],
      mayReach: async (destination) => {
        asked.push(destination)
        return true
      },
    })
    expect(await shell(`curl -sS http://evil.test:${port}/`)).toBe("from outside")
    expect(asked).toEqual([{ host: "evil.test", port }])
  })

  test.each([
    ["a direct connection", (port: number) => `curl -sS --noproxy '*' --max-time 3 http://127.0.0.1:${port}/`],
    ["a direct connection to the internet", () => "curl -sS --noproxy '*' --max-time 3 http://192.0.2.1/"],
    ["IPv6", () => "curl -sS --noproxy '*' --max-time 3 'http://[2001:db8::1]/'"],
    ["DNS", () => "getent ahosts example.com"],
    ["a raw connection of the shell", (port: number) => `exec 3<>/dev/tcp/127.0.0.1/${port} && echo reached`],
  ])("%s fails", async (_name, script) => {
    const { shell, port, reached } = await walledShell({ hosts: (open) => ["good.test", `127.0.0.1:${open}`] })
    expect(await shell(`${script(port)} && echo reached`)).not.toContain("reached")
    expect(reached).toEqual([])
  })

  test("ssh gets its connection through a tunnel", async () => {
    const { shell, port, reached } = await walledShell({ hosts: (open) => ["good.test", `127.0.0.1:${open}`] })
    // Stands for ssh: replaces its tokens and runs the ProxyCommand as ssh does.
    const ssh =
      String.raw`ssh() { local command="$\{2#ProxyCommand=}"; command="$\{command//%h/good.test}"; command="$\{command//%p/${port}}"; sh -c "exec $\{command//%%/%}"; }`.replaceAll(
        String.raw`$\{`,
        "${",
      )
    const script = `${ssh}\n{ printf 'GET /tunnel HTTP/1.0\\r\\n\\r\\n'; sleep 1; } | ${PROXY_VARIABLES["GIT_SSH_COMMAND"]}`
    expect(await shell(script)).toContain("from outside")
    expect(reached.map((line) => line.split(" ").at(-1))).toEqual(["/tunnel"])
  })

  test("rubbish closes the connection, and the next one works", async () => {
    const { shell, port } = await walledShell({ hosts: (open) => ["good.test", `127.0.0.1:${open}`] })
    const [host, proxyPort] = PROXY_ADDRESS.split(":")
    const send = (text: string) =>
      `exec 3<>/dev/tcp/${host}/${proxyPort}; printf '${text}' >&3; timeout 20 cat <&3; exec 3>&-`
    // The connection may be reset before the answer was read.
    const answer = (text: string) => expect.poll(() => shell(send(text)), { timeout: 20_000 })
    await answer("\\x05\\x00").toContain("\u0005")
    await answer("GET / HTTP/1.1\\r\\n\\r\\n").toContain("400 Bad Request")
    await answer("CONNECT nowhere HTTP/1.1\\r\\n\\r\\n").toContain("400 Bad Request")
    expect(await shell(`curl -sS http://good.test:${port}/`)).toBe("from outside")
  })
})
