import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"

const program = (name: string): string =>
  fileURLToPath(new URL(`../../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url))

/** The command line of a reference server. */
export function referenceCommand(
  name: "server-everything" | "server-filesystem" | "server-memory",
  ...args: readonly string[]
): { readonly command: string; readonly args: readonly string[] } {
  return { command: process.execPath, args: [program(name), ...args] }
}

/** The server "everything" over HTTP, on a port of its own. */
export interface HttpReferenceServer extends AsyncDisposable {
  readonly url: string
  stop(): Promise<void>
  start(): Promise<void>
}

export async function startEverything(transport: "streamableHttp" | "sse"): Promise<HttpReferenceServer> {
  const port = await freePort()
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const started = spawn(process.execPath, [program("server-everything"), transport], {
      env: { PATH: process.env["PATH"] ?? "", PORT: String(port) },
      stdio: ["ignore", "pipe", "pipe"],
    })
    child = started
    await new Promise<void>((resolve, reject) => {
      const listening = (chunk: Buffer): void => {
        if (chunk.toString().includes(String(port))) resolve()
      }
      started.stdout.on("data", listening)
      started.stderr.on("data", listening)
      started.once("exit", () => reject(new Error("the server ended")))
    })
  }
  const stop = async (): Promise<void> => {
    const running = child
    child = undefined
    if (running === undefined || running.exitCode !== null) return
    const exited = new Promise((resolve) => running.once("exit", resolve))
    running.kill("SIGKILL")
    await exited
  }
  await start()
  return {
    url: `http://127.0.0.1:${port}/${transport === "sse" ? "sse" : "mcp"}`,
    start,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === "object" && address !== null ? address.port : 0
}
