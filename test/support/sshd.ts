import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { errorCode } from "../../src/base/system-error.ts"

/** A real sshd on loopback that accepts one key. */
export interface TestSshd extends AsyncDisposable {
  readonly port: number
  readonly keyFile: string
  /** An empty working directory. */
  readonly directory: string
  /** HOME of a remote session. */
  readonly accountHome: string
  /** An environment in which the ssh client does not use the developer's own configuration and known hosts. */
  readonly clientEnvironment: Readonly<Record<string, string>>
  /** Kills every connection, as a network failure would. */
  cutConnections(): void
  /** The number of connected clients. */
  connections(): number
  /** Whether the working directory has a file with a matching name. */
  hasFile(name: RegExp): Promise<boolean>
  /** Stops the server and its connections, and keeps the files. */
  stop(): Promise<void>
}

/** Returns why tests cannot run sshd here, or undefined when they can. */
export function sshdUnavailableReason(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "sshd is tested on Linux as root"
  return spawnSync("/usr/sbin/sshd", ["-V"]).error === undefined ? undefined : "sshd is not installed"
}

export async function startSshd(): Promise<TestSshd> {
  const root = mkdtempSync(join(tmpdir(), "sshd-"))
  const work = join(root, "work")
  mkdirSync(work)
  const account = join(root, "account")
  mkdirSync(account)
  mkdirSync("/run/sshd", { recursive: true })
  for (const key of ["host", "id"]) spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(root, key)])
  const port = await freePort()
  writeFileSync(
    join(root, "config"),
    [
      `Port ${port}`,
      "ListenAddress 127.0.0.1",
      `HostKey ${root}/host`,
      `PidFile ${root}/pid`,
      `AuthorizedKeysFile ${root}/id.pub`,
      "PasswordAuthentication no",
      "KbdInteractiveAuthentication no",
      "UsePAM no",
      "StrictModes no",
      "PermitRootLogin prohibit-password",
      "MaxSessions 50",
      // Remote commands write to HOME, which must not be the home of the user who runs the tests.
      `SetEnv HOME=${account}`,
      "",
    ].join("\n"),
  )
  const server = spawn("/usr/sbin/sshd", ["-D", "-e", "-f", join(root, "config")], {
    stdio: ["ignore", "ignore", "pipe"],
  })
  const { promise: listening, resolve, reject } = Promise.withResolvers<undefined>()
  let output = ""
  server.stderr.on("data", (chunk: Buffer) => {
    output += chunk.toString()
    if (output.includes("Server listening")) resolve(undefined)
  })
  server.once("exit", () => reject(new Error(`sshd exited before it listened: ${output}`)))
  await listening
  const killConnections = (): void => {
    for (const pid of childrenOf(server.pid ?? 0)) {
      try {
        process.kill(pid, "SIGKILL")
      } catch (error) {
        // The process has exited already.
        if (errorCode(error) !== "ESRCH") throw error
      }
    }
  }
  const stop = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exited = new Promise((done) => server.once("exit", done))
    killConnections()
    server.kill()
    await exited
  }
  return {
    port,
    keyFile: join(root, "id"),
    directory: work,
    accountHome: account,
    clientEnvironment: clientEnvironment(root),
    cutConnections: killConnections,
    connections: () => childrenOf(server.pid ?? 0).length,
    hasFile: async (name) => (await readdir(work)).some((entry) => name.test(entry)),
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** ssh ignores HOME and reads the account's home directory, so a wrapper passes the files to use. */
function clientEnvironment(root: string): Record<string, string> {
  const bin = join(root, "bin")
  mkdirSync(bin)
  const real = spawnSync("sh", ["-c", "command -v ssh"], { encoding: "utf8" }).stdout.trim()
  const script = `#!/bin/sh\nexec ${real} -F none -o UserKnownHostsFile=${root}/known_hosts "$@"\n`
  writeFileSync(join(bin, "ssh"), script, { mode: 0o755 })
  return { PATH: process.env["PATH"] ?? "", HOME: root, HERMES_SSH_BINARY: join(bin, "ssh") }
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((child) => child !== "")
    .map(Number)
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === "string") throw new Error("the server has no port")
  return address.port
}
