import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { errorCode } from "../../src/base/system-error.ts"
/** A real sshd on this machine that knows one key. */
export interface SshdPeer extends AsyncDisposable {
  readonly port: number
  readonly keyFile: string
  /** A directory to work in. */
  readonly folder: string
  /** The home of the account over there. */
  readonly account: string
  /** The environment that makes an ssh client leave the person's own files alone. */
  readonly clientEnvironment: Readonly<Record<string, string>>
  /** Ends every connection at once, as a cut cable does. */
  cutConnections(): void
  /** How many clients are connected. */
  connections(): number
  /** Whether a file of such a name is in the directory. */
  hasFile(name: RegExp): Promise<boolean>
  /** Ends the server and its connections; the files stay. */
  stop(): Promise<void>
}

/** Why there is no sshd to test with, or undefined. */
export function sshdMissing(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "sshd is tested on Linux as root"
  return spawnSync("/usr/sbin/sshd", ["-V"]).error === undefined ? undefined : "sshd is not installed"
}

export async function startSshd(): Promise<SshdPeer> {
  const folder = mkdtempSync(join(tmpdir(), "sshd-"))
  const work = join(folder, "work")
  mkdirSync(work)
  const account = join(folder, "account")
  mkdirSync(account)
  mkdirSync("/run/sshd", { recursive: true })
  for (const key of ["host", "id"]) spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, key)])
  const port = await freePort()
  writeFileSync(
    join(folder, "config"),
    [
      `Port ${port}`,
      "ListenAddress 127.0.0.1",
      `HostKey ${folder}/host`,
      `PidFile ${folder}/pid`,
      `AuthorizedKeysFile ${folder}/id.pub`,
      "PasswordAuthentication no",
      "KbdInteractiveAuthentication no",
      "UsePAM no",
      "StrictModes no",
      "PermitRootLogin prohibit-password",
      "MaxSessions 50",
      // What is kept in the account's home over there must not be kept in the home of whoever runs the tests.
      `SetEnv HOME=${account}`,
      "",
    ].join("\n"),
  )
  const server = spawn("/usr/sbin/sshd", ["-D", "-e", "-f", join(folder, "config")], {
    stdio: ["ignore", "ignore", "pipe"],
  })
  const { promise, resolve } = Promise.withResolvers<undefined>()
  let said = ""
  server.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString()
    if (said.includes("Server listening")) resolve(undefined)
  })
  await promise
  const killConnections = (): void => {
    for (const pid of childrenOf(server.pid ?? 0)) {
      try {
        process.kill(pid, "SIGKILL")
      } catch (error) {
        // It has just ended by itself.
        if (errorCode(error) !== "ESRCH") throw error
      }
    }
  }
  const stop = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const gone = new Promise((done) => server.once("exit", done))
    killConnections()
    server.kill()
    await gone
  }
  return {
    port,
    keyFile: join(folder, "id"),
    folder: work,
    account,
    clientEnvironment: clientEnvironment(folder),
    cutConnections: killConnections,
    connections: () => childrenOf(server.pid ?? 0).length,
    hasFile: async (name) => (await readdir(work)).some((entry) => name.test(entry)),
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** ssh takes the home directory from the account, not from HOME; a program of the same name in front says which files to use. */
function clientEnvironment(folder: string): Record<string, string> {
  const bin = join(folder, "bin")
  mkdirSync(bin)
  const real = spawnSync("sh", ["-c", "command -v ssh"], { encoding: "utf8" }).stdout.trim()
  const script = `#!/bin/sh\nexec ${real} -F none -o UserKnownHostsFile=${folder}/known_hosts "$@"\n`
  writeFileSync(join(bin, "ssh"), script, { mode: 0o755 })
  return { PATH: `${bin}:${process.env["PATH"] ?? ""}`, HOME: folder }
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
  if (address === null || typeof address === "string") throw new Error("no port was given")
  return address.port
}
